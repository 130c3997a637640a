"""While an old query comes to rest, a worker that does not start costs a restart, and not the change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import StreamingQueryException

from dovetail.errors import PlanError, RunError, Unreachable
from dovetail.spark.attempts import STARTS, Attempts
from dovetail.spark.settling import run_to_end

NOT_STARTED = "java.io.IOException: Python worker failed to connect back"


class Query:
    """A query of Spark, as far as it is looked at: it ends well, or with an error."""

    isActive = False
    recentProgress = ()

    def __init__(self, error: str | None = None) -> None:
        self.error = error

    def awaitTermination(self) -> None:
        if self.error is not None:
            raise StreamingQueryException(self.error)

    def exception(self) -> Exception | None:
        return None if self.error is None else StreamingQueryException(self.error)

    def stop(self) -> None:
        self.isActive = False


class Begun:
    """Starts of stages, each with what becomes of it."""

    def __init__(self, **ends: Iterator[str | None]) -> None:
        self.ends, self.starts = ends, list[str]()

    def __call__(self, stage: str) -> list[Query]:
        self.starts.append(stage)
        return [Query(next(self.ends[stage]))]


def test_a_worker_that_did_not_start_is_started_again() -> None:
    begin = Begun(a=iter([None]), b=iter([NOT_STARTED, NOT_STARTED, None]))
    run_to_end(["a", "b"], begin, Attempts())  # type: ignore[arg-type]
    assert begin.starts == ["a", "b", "b", "b"]


def test_one_that_never_starts_ends_the_change_with_its_error() -> None:
    begin = Begun(a=iter([NOT_STARTED] * (STARTS + 1)))
    with pytest.raises(RunError, match="failed to connect back"):
        run_to_end(["a"], begin, Attempts())  # type: ignore[arg-type]
    assert len(begin.starts) == STARTS


@pytest.mark.parametrize("error", [PlanError("no such column"), Unreachable("the server is away")])
def test_any_other_error_is_not_repeated(error: Exception) -> None:
    attempts = Attempts()
    begin = Begun(a=iter([NOT_STARTED]))
    attempts.failures["a"] = error  # type: ignore[assignment]
    with pytest.raises(type(error), match=str(error)):
        run_to_end(["a"], begin, attempts)  # type: ignore[arg-type]
    assert begin.starts == ["a"]
