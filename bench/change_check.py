"""How long `dovetail check` takes for a large application, after its imports: one that is right, and one with
a mistake in every table.

`python -m bench.change_check FILE` prints the seconds and how many errors were found."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import time
from pathlib import Path

from bench.change_diff import text_of

MISTAKES = {
    "SELECT eventtime, l, r, v\n": "SELECT eventtime, COALESCEE(l, r) AS l\n",  # no such function
    "SUM(v) AS v": "MAX(date_add(eventtime, l)) AS v",  # a type that the function refuses
}


def mistaken(text: str) -> str:
    for right, wrong in MISTAKES.items():
        text = text.replace(right, wrong)
    return text


def measure(work: Path, lines: int) -> tuple[int, float]:
    """The lines of the application, and the seconds of the slower one of the two."""
    text = text_of(lines)
    took_s = []
    for name, content in (("right.pql", text), ("wrong.pql", mistaken(text))):
        (work / name).write_text(content)
        said = subprocess.run(
            [sys.executable, "-m", "bench.change_check", str(work / name)],
            cwd=Path(__file__).resolve().parent.parent,
            check=True,
            capture_output=True,
            text=True,
        )
        seconds, errors = said.stdout.split()
        assert (int(errors) > 0) == (content != text), said.stdout
        took_s.append(float(seconds))
    return text.count("\n"), max(took_s)


def main(file: str) -> None:
    import typer

    import dovetail.spark.inputs  # noqa: F401  (what `check` imports when it is called)
    from dovetail.service.cli.check_plan import check

    errors = io.StringIO()
    began_s = time.process_time()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(errors),
        contextlib.suppress(typer.Exit),
    ):
        check(Path(file))
    took_s = time.process_time() - began_s
    print(took_s, errors.getvalue().count("error: "))


if __name__ == "__main__":
    main(*sys.argv[1:])
