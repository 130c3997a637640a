"""`did you mean ...`: hints with the nearest existing name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MANY = 12


def did_you_mean(name: str, existing: Iterable[str], *, listed: bool = False) -> str | None:
    """The nearest existing name. If none is near and the error does not list the names, the names."""
    names = list(dict.fromkeys(existing))
    if not names:
        return None
    folded = {n.lower(): n for n in names}
    near = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{folded[near[0]]}`?"
    if listed:
        return None
    some = ", ".join(f"`{n}`" for n in names[:MANY])
    return f"there {'is' if len(names) == 1 else 'are'} {some}{', ...' if len(names) > MANY else ''}"
