"""The nursery's law: what it forks behaves as the process that was asked for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.spark import nursery, nursery_client

SOURCE = str(Path(dovetail.__file__).resolve().parent.parent)
CLIENT = [sys.executable, "-I", "-S", str(Path(nursery_client.__file__))]
ASKED = """
import os, sys
print(__name__, sys.argv[1:], os.getcwd(), os.environ["WORD"], sys.stdin.read())
print(sys.path)
print("to stderr", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""
WAITS = """
import os, sys
print(os.getpid(), flush=True)
sys.stdin.read()
print("over", flush=True)
"""


class Nursery:
    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "orders")
        self.folder = folder / "at"
        self.folder.mkdir()
        (self.folder / "asked.py").write_text(ASKED)
        (self.folder / "waits.py").write_text(WAITS)
        theirs, self.ours = os.pipe()
        self.environment = {**os.environ, "PYTHONPATH": f"{self.folder}:{SOURCE}", "WORD": "given"}
        command = [sys.executable, "-m", nursery.__name__, self.path, str(theirs)]
        self.process = subprocess.Popen(
            command, pass_fds=[theirs], env=self.environment | {"WORD": "its own"}, stdin=subprocess.DEVNULL
        )
        os.close(theirs)

    def start(
        self, *arguments: str, command: list[str] = CLIENT, at: str | None = None
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, *arguments],
            cwd=self.folder,
            env=self.environment | {nursery.VARIABLE: at or self.path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> int:
        os.close(self.ours)
        return self.process.wait()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    while not os.path.exists(made.path):  # it listens before it imports
        assert made.process.poll() is None
    yield made
    assert made.end() == 0


@pytest.mark.parametrize("status", ["0", "3"])
def test_a_child_is_the_process_that_was_asked_for(shared: Nursery, status: str) -> None:
    outcomes: list[Any] = []
    for command in (CLIENT, [sys.executable]):
        process = shared.start("-m", "asked", status, "b c", command=command)
        said = process.communicate("some words")
        outcomes.append((process.returncode, *said))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == int(status)


def test_a_child_has_its_imports(shared: Nursery) -> None:
    (shared.folder / "imported.py").write_text(
        "import sys; print('dovetail.engine.join_step' in sys.modules)"
    )
    assert shared.start("-m", "imported").communicate()[0] == "True\n"


def test_a_child_ends_with_its_client(shared: Nursery) -> None:
    client = shared.start("-m", "waits")
    assert client.stdout is not None
    child = int(client.stdout.readline())
    assert child != client.pid
    os.kill(client.pid, signal.SIGTERM)
    assert client.stdout.read() == "", "the child held the stream, and has gone without another word"
    client.communicate()


def test_a_child_ends_when_whoever_asked_for_it_has_died(shared: Nursery) -> None:
    """As with Spark's processes, whose JVM was killed while they waited for something else than its word."""
    jvm = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"]
    asker = shared.start(*CLIENT, "-m", "waits", command=jvm)
    assert asker.stdin is not None
    assert asker.stdout is not None
    child = int(asker.stdout.readline())
    assert child != asker.pid
    asker.kill()
    assert asker.stdout.read() == "", "client and child held the stream, and have gone without another word"
    asker.communicate()


def test_a_child_holds_what_it_is_given_as_long_as_it_lives(
    shared: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in shared.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(shared.folder)
    stdin, lives = os.pipe()
    said, stdout = os.pipe()
    gone, held = os.pipe()
    order = nursery_client.place_order(shared.path, ["-m", "waits"], [stdin, stdout, 2, held])
    for descriptor in (stdin, stdout, held):
        os.close(descriptor)
    with order, open(said) as words, open(gone) as rest:
        child = int(words.readline())
        named = [os.readlink(path) for path in Path(f"/proc/{child}/fd").iterdir()]
        kept = [os.readlink(path) for path in Path(f"/proc/{shared.process.pid}/fd").iterdir()]
        pipe = os.readlink(f"/proc/self/fd/{rest.fileno()}")
        assert pipe in named
        assert pipe not in kept, "the nursery would hold it after the child"
        os.close(lives)
        assert words.read() == "over\n"
        assert rest.read() == ""


def test_a_killed_child_gives_its_status(shared: Nursery) -> None:
    client = shared.start("-m", "waits")
    assert client.stdout is not None
    os.kill(int(client.stdout.readline()), signal.SIGKILL)
    assert client.wait() == 128 + signal.SIGKILL
    client.communicate()


def test_without_a_nursery_the_client_becomes_the_process(shared: Nursery, tmp_path: Path) -> None:
    lonely = subprocess.run(
        [*CLIENT, "-m", "asked", "4"],
        cwd=shared.folder,
        env=shared.environment | {nursery.VARIABLE: str(tmp_path / "nobody")},
        input="words",
        capture_output=True,
        text=True,
        check=False,
    )
    assert lonely.returncode == 4
    assert lonely.stdout.startswith(f"__main__ ['4'] {shared.folder} given words\n")


def test_a_client_whose_order_nobody_takes_becomes_the_process(shared: Nursery, tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(path)
        listening.listen()
        client = shared.start("-m", "asked", "5", at=path)
        accepted, _ = listening.accept()
        with accepted:
            while not accepted.recv(1 << 16).endswith(b"\0"):
                pass
    assert client.communicate("words")[0].startswith(f"__main__ ['5'] {shared.folder} given words\n")
    assert client.returncode == 5


def test_what_is_no_module_runs_by_itself(shared: Nursery) -> None:
    process = shared.start("-c", "import sys; print('dovetail.engine.join_step' in sys.modules)")
    assert process.communicate()[0] == "False\n"


def test_the_nursery_ends_after_its_driver_and_its_last_child(tmp_path: Path) -> None:
    made = Nursery(tmp_path)
    while not os.path.exists(made.path):
        assert made.process.poll() is None
    client = made.start("-m", "waits")
    assert client.stdout is not None
    assert client.stdout.readline()
    os.close(made.ours)
    assert made.process.poll() is None
    assert client.communicate("go")[0] == "over\n"
    assert client.returncode == 0
    assert made.process.wait() == 0


def test_whoever_opens_one_may_wait_until_it_takes_orders_and_gets_the_same_again() -> None:
    script = (
        "import os\n"
        "from dovetail.spark.nursery import await_nursery, open_nursery\n"
        "path = open_nursery()\n"
        "if path is not None:\n"
        "    await_nursery(path)\n"
        "print(path is not None and os.path.exists(path), open_nursery() == path)\n"
    )
    unset = (nursery.VARIABLE, *nursery.READ_AT_START)
    given = {name: value for name, value in os.environ.items() if name not in unset}
    for more, said in (({}, "True True\n"), ({"PYTHONHASHSEED": "7"}, "False True\n")):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=given | {"PYTHONPATH": SOURCE} | more,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == said, done.stderr


def test_a_nursery_whose_driver_has_gone_already_ends_without_a_word(tmp_path: Path) -> None:
    """A run that ends at once, for an error in its query say, removes the folder before anybody is there."""
    command = [sys.executable, "-m", "dovetail.spark.nursery", str(tmp_path / "gone" / "orders"), "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
