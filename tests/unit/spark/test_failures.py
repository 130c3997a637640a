"""Which failures are reported, and which are tried again."""

from __future__ import annotations

import pytest

from dovetail.errors import CorruptFile, InputError, RunError
from dovetail.spark.failures import TaskError, failure_of, is_transient, packs_errors


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("stage a failed: java.io.OptionalDataException", True),
        ("Python worker failed to connect back.", True),
        ("java.util.ConcurrentModificationException at HashMap", True),
        (
            "java.net.SocketException: Connection reset\n at org.apache.spark.api.python.BasePythonRunner",
            True,
        ),
        ("Python worker exited unexpectedly (crashed): java.io.EOFException", True),
        ("java.net.SocketException: Connection reset\n at org.apache.hadoop.fs.s3a", False),
        ("[CANNOT_READ_FILE_FOOTER] Could not read footer", False),
        ("", False),
    ],
)
def test_passing_faults(text: str, again: bool) -> None:
    assert is_transient(RuntimeError(text)) is again


def test_a_worker_that_died_is_named() -> None:
    error = failure_of(RuntimeError("Python worker exited unexpectedly (crashed)"), "slicer")
    assert error.what.startswith("stage slicer failed: a Python worker process died")
    assert is_transient(error)


def test_an_error_crosses_spark_as_itself() -> None:
    @packs_errors
    def task() -> None:
        raise CorruptFile("bad bytes", where="there", expected="good ones", hint="mend them")

    with pytest.raises(TaskError) as caught:
        task()
    back = failure_of(RuntimeError(f"Job aborted\nTraceback ...\n{caught.value}\n at java"), "a")
    assert isinstance(back, CorruptFile)
    assert (back.what, back.where, back.hint) == ("bad bytes", "there", "mend them")


def test_a_generator_too() -> None:
    @packs_errors
    def rows() -> object:
        yield 1
        raise InputError("no more")

    with pytest.raises(TaskError):
        list(rows())  # type: ignore[call-overload]


def test_anything_else_names_its_stage() -> None:
    error = failure_of(RuntimeError("boom"), "slicer")
    assert isinstance(error, RunError)
    assert "slicer" in str(error)
    assert "boom" in str(error)
