"""Names for relations that the planner adds."""

from __future__ import annotations


def fresh_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or `wanted_2`, ... if that is taken (whatever the case); the name is then taken."""
    name, number = wanted, 1
    while name.lower() in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name.lower())
    return name
