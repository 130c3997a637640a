"""Errors for people: what went wrong, where, what was expected, and what to do.

Every error that a user can cause or see is a `DovetailError` with a condition name. The command line prints
`str(error)` and exits with 1. Programs get `error.to_json()`, for example from `--json`.
"""

from __future__ import annotations

from typing import ClassVar


class DovetailError(Exception):
    """The base class. `condition` is a stable name that programs may test for."""

    condition: ClassVar[str] = "ERROR"

    def __init__(
        self, what: str, *, where: str | None = None, expected: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where:    {self.where}")
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.hint:
            lines.append(f"  hint:     {self.hint}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, dict[str, str | None]]:
        return {
            "error": {
                "condition": self.condition,
                "what": self.what,
                "where": self.where,
                "expected": self.expected,
                "hint": self.hint,
            }
        }

    @staticmethod
    def from_json(document: dict[str, dict[str, str | None]]) -> DovetailError:
        """The error that `to_json` wrote down, of the same kind, or of the kind that it is a case of."""
        said = document["error"]
        kinds: list[type[DovetailError]] = [DovetailError]
        for kind in kinds:  # it grows: those with fewer ancestors come first
            kinds += kind.__subclasses__()
        kind = next((kind for kind in kinds if kind.condition == said["condition"]), DovetailError)
        return kind(said["what"] or "", where=said["where"], expected=said["expected"], hint=said["hint"])

    def __reduce__(self) -> tuple[object, ...]:
        """Errors keep all their fields across processes, for example from Spark's Python workers."""
        return _rebuild, (type(self), dict(self.__dict__))


def _rebuild(kind: type[DovetailError], fields: dict[str, object]) -> DovetailError:
    error = kind.__new__(kind)
    Exception.__init__(error, fields.get("what"))
    error.__dict__.update(fields)
    return error


class PqlError(DovetailError):
    """A PQL text that does not parse, or that refers to something that does not exist."""

    condition = "PQL_INVALID"


class PlanError(DovetailError):
    """A plan that cannot run: bad bounds, bad options, or an unsupported combination."""

    condition = "PLAN_INVALID"


class SettingError(DovetailError):
    """An option or setting that is unknown or out of range."""

    condition = "SETTING_INVALID"


class InputError(DovetailError):
    """An input that is missing, empty or unreadable, or that has another schema."""

    condition = "INPUT_INVALID"


class HomeError(DovetailError):
    """A home that cannot be opened or written."""

    condition = "HOME_UNUSABLE"


class CategoryNotFound(DovetailError):
    condition = "CATEGORY_NOT_FOUND"


class CategoryMismatch(DovetailError):
    """A category exists with another schema or another number of buckets."""

    condition = "CATEGORY_MISMATCH"


class LogTruncated(DovetailError):
    """A reader asked for commits that retention has removed."""

    condition = "LOG_TRUNCATED"


class CorruptFile(DovetailError):
    """A file that is not what was written: its checksum, length or structure is wrong."""

    condition = "FILE_CORRUPT"


class UnknownVersion(DovetailError):
    """A file in a format version that this release cannot read."""

    condition = "VERSION_UNKNOWN"


class StateError(DovetailError):
    """State that is missing, or that belongs to another application or plan."""

    condition = "STATE_UNUSABLE"


class RunError(DovetailError):
    """A stage that failed while running."""

    condition = "RUN_FAILED"


class ExtraMissing(DovetailError):
    """A library that only some queries need, and this one does."""

    condition = "EXTRA_MISSING"


class Unreachable(DovetailError):
    """A server or another external system that cannot be reached now, and may come back."""

    condition = "UNREACHABLE"


class PlaceError(DovetailError):
    """An external system that rejects what it is given: another schema, no permission, wrong settings."""

    condition = "PLACE_UNUSABLE"


class PreviewError(DovetailError):
    """Two versions that cannot be compared over the rows in the log."""

    condition = "PREVIEW_IMPOSSIBLE"
