"""The files of `bench peers` and their pairs, what is asked of each system, and what the report notices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.live_traffic import Traffic
from bench.peers import main
from bench.peers_child import query
from bench.peers_flink import ANY_ORDER_S, interval, join
from bench.peers_install import default_folder, python_of
from bench.peers_live import figures
from bench.peers_order import Order
from bench.peers_pathway import types
from bench.peers_report import LeftOut, Live, Ran, Report
from bench.peers_work import COLUMNS, DELAY_S, SPAN_S, WINDOW_S, Result, Work, found

from dovetail.errors import RunError
from dovetail.pql import compile_pql

WANTED = Result(7, "11")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


def order(tmp_path: Path) -> Order:
    return Order(
        system="dovetail",
        files=str(tmp_path / "in"),
        warm_up="",
        columns=COLUMNS,
        window_s=WINDOW_S,
        delay_s=DELAY_S,
        cores=2,
        heap="1g",
        work=str(tmp_path),
        outcome="",
        started_at=0.0,
    )


def test_the_pairs_are_those_of_the_loops(tmp_path: Path) -> None:
    work = Work(tmp_path / "in", 300, files=3)
    work.write()
    left, right = (rows_of(tmp_path / "in" / side) for side in ("left", "right"))
    assert len(left) == len(right) == 300
    pairs = [
        {"left_id": a["left_id"], "right_id": b["right_id"], "time": 1, "diff": 1}
        for a in left
        for b in right
        if a["key"] == b["key"] and abs(a["at_ms"] - b["at_ms"]) <= WINDOW_S * 1000
    ]
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-1").write_text("\n".join(map(json.dumps, pairs)))
    (out / "_spark_metadata").mkdir()
    (out / "_spark_metadata" / "0").write_text("v1")
    assert 200 < len(pairs) < 400
    assert work.expected() == found(out)
    (out / "part-1").write_text("\n".join(map(json.dumps, pairs[1:])))
    assert work.expected() != found(out)


def test_no_row_is_later_than_allowed(tmp_path: Path) -> None:
    Work(tmp_path, 2_000, files=2).write()
    newest, most = 0, 0
    for row in rows_of(tmp_path / "left"):
        most = max(most, newest - row["at_ms"])
        newest = max(newest, row["at_ms"])
    assert 0 < most <= DELAY_S * 1000


def test_the_query_compiles(tmp_path: Path) -> None:
    plan = compile_pql(query(order(tmp_path), tmp_path / "in", tmp_path / "out"))
    assert len(plan.joins) == 1


def test_an_order_arrives_as_it_was_sent(tmp_path: Path) -> None:
    sent = order(tmp_path)
    assert Order.from_json(sent.to_json()) == sent
    assert sent.names("left") == ["left_id", "amount", "label"]
    assert types(sent.columns["right"]) == {"right_id": int, "score": float, "tag": str}


@pytest.mark.parametrize(("seconds", "text"), [(180, "0:3:0"), (7, "0:0:7"), (3661, "1:1:1")])
def test_intervals_as_flink_has_them(seconds: int, text: str) -> None:
    assert interval(seconds) == f"INTERVAL '{text}' HOUR TO SECOND"


def test_flink_waits_for_files_in_any_order(tmp_path: Path) -> None:
    assert ANY_ORDER_S >= SPAN_S
    assert interval(WINDOW_S) in join(order(tmp_path), ["l.`key`"])


def test_peers_are_installed_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder().parent == tmp_path


def test_a_peer_is_installed_only_on_request(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not installed"):
        python_of("flink", tmp_path, install=False)
    assert list(tmp_path.iterdir()) == []


def test_a_peer_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--only", "pathway", "--rows", "200", "--rate", "0", "--peers-dir", str(tmp_path), "--json"]
    assert main(options) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["system"] for one in said["left_out"]] == ["pathway"]
    assert said["at_rest"] == {}


def test_notes_of_a_peer_become_latencies() -> None:
    traffic = Traffic(40, 40, 10.0)
    stamps = {side: [100.0 + second for second in traffic.appear_s] for side in ("left", "right")}
    pairs = [(key, 111.0) for key in range(traffic.pairs)]
    took, wrong, first_at = figures(traffic, stamps, pairs, begin=100.0, ended=112.0)  # type: ignore[arg-type]
    assert (took.rows, wrong, first_at) == (traffic.pairs, 0, 111.0)
    assert took.max == pytest.approx(11.0)
    _, wrong, _ = figures(traffic, stamps, [*pairs[1:], pairs[5], (1 << 40, 111.0)], 100.0, 112.0)  # type: ignore[arg-type]
    assert wrong == 3  # one is missing, one is twice there, one should not be


def took(held: bool = True) -> dict[str, Any]:
    return {"p50": 1.0, "p90": 1.0, "p99": 2.0, "max": 2.0, "held": held, "share_held": 1.0}


def report(ran: Ran, live: Live) -> Report:
    return Report(100, 10, 2, WANTED, {"flink": ran}, {"flink": live}, [LeftOut("pathway", "no wheel")])


GOOD = Ran(2.0, 3.0, 2**30, WANTED)
FINE = Live(took(), 0, 2**30, 9.0)


def test_the_report_notices_other_pairs() -> None:
    assert report(GOOD, FINE).equal
    other = report(Ran(2.0, 3.0, 2**30, Result(7, "12")), FINE)
    assert not other.equal
    assert "WRONG" in other.table().markdown()
    assert not report(GOOD, Live(took(), 3, 2**30, 9.0)).equal


def test_pairs_that_are_missing_because_it_fell_behind_are_not_wrong() -> None:
    behind = report(GOOD, Live(took(held=False), 3, 2**30, 9.0))
    assert behind.equal
    assert "falls behind" in behind.table().markdown()


def test_the_table_has_every_figure() -> None:
    made = report(GOOD, FINE)
    assert made.to_json()["left_out"] == [{"system": "pathway", "reason": "no wheel"}]
    assert made.table().markdown().splitlines()[2] == (
        "| Flink SQL 2.3.0 | 100 | 3.0 | 1,024 MiB | 1.00 s | 2.00 s | 1,024 MiB | 9.0 s |"
    )
