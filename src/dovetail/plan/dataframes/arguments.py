"""The arguments of `dovetail.join` that say what is joined and under which name, checked before anything is
written or started."""

from __future__ import annotations

from typing import Any, Literal, get_args

from dovetail.errors import InputError, PlanError
from dovetail.log.definition import folder_of

JoinMode = Literal["stream", "available-now", "drain"]


def key_pairs(on: Any) -> list[tuple[str, str]]:
    """The key columns, left and right: of one name, of several, or of pairs of names."""
    given = [on] if isinstance(on, str) else list(on) if isinstance(on, list | tuple) else None
    pairs = None if given is None else [(key, key) if isinstance(key, str) else key for key in given]
    if pairs is None or not all(_is_pair(pair) for pair in pairs):
        raise PlanError(
            f"on={on!r} names no key columns",
            where="dovetail.join",
            expected='on="key", on=["a", "b"] or on=[("left_key", "right_key")]',
        )
    if not pairs:
        raise PlanError("a join needs at least one key column", expected='on="key" or on=["a", "b"]')
    return [(left, right) for left, right in pairs]


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(key, str) for key in pair)


def check_words(name: Any, mode: Any, suffix: Any) -> None:
    try:
        folder_of(f"{name}.right" if isinstance(name, str) else "")
    except InputError as error:
        what = f"{name!r} cannot be the name of a join"
        raise PlanError(what, where="dovetail.join, name=", expected=error.expected) from None
    if mode not in get_args(JoinMode):
        modes = ", ".join(map(repr, get_args(JoinMode)))
        raise PlanError(f"there is no mode {mode!r}", where="dovetail.join, mode=", expected=modes)
    if not isinstance(suffix, str):
        what = f"a suffix cannot be {suffix!r}"
        raise PlanError(what, where="dovetail.join, suffix=", expected='a text such as "_right"')
