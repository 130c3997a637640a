"""`did you mean ...`: the nearest of the names that exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MANY = 12


def did_you_mean(name: str, existing: Iterable[str]) -> str | None:
    """A hint that names the nearest existing name, or lists what there is when nothing is near."""
    names = list(dict.fromkeys(existing))
    if not names:
        return None
    folded = {n.lower(): n for n in names}
    near = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{folded[near[0]]}`?"
    listed = ", ".join(f"`{n}`" for n in names[:MANY])
    return f"there {'is' if len(names) == 1 else 'are'} {listed}{', ...' if len(names) > MANY else ''}"
