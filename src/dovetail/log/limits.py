"""How long a category keeps rows: by age and by size, with a default for each role.

Law: limits delete only what no live reader needs. A category that people append to has no limits unless
somebody sets them: their rows stay until they say otherwise. Its files are compacted all the same.

`retention.json` has the limits that somebody set: a person with `dovetail log retain`, or an application
whose query says how long its output keeps rows. Without it the default holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category
    from dovetail.log.definition import Definition

KIND, VERSION = "dovetail.retention", 1

Role = Literal["input", "side", "view", "output", "invalid", "rejects"]
"""Who writes a category, and what for.

    input     people, with `dovetail log append`
    side      a slicer: one side of a join or the rows of an aggregate, which says what it still needs
    view      a join, or an aggregate's closed windows: `<application>.<view>`, for the next stage
    output    an application, by `SCRIBE("name")`
    invalid   rows kept aside: those whose event time is not believed, or that came after their window
    rejects   a slicer: rows that could not be read
"""
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Limits:
    """None: no limit."""

    age_us: int | None
    size_bytes: int | None


_WEEK_US, _GB = 7 * 86_400_000_000, 10**9

DEFAULTS: dict[Role, Limits] = {
    "input": Limits(None, None),
    "side": Limits(
        None, None
    ),  # the join or aggregate that reads it says what may go, whenever a step is done
    "view": Limits(_WEEK_US, 100 * _GB),
    "output": Limits(_WEEK_US, 100 * _GB),
    "invalid": Limits(_WEEK_US, 10 * _GB),
    "rejects": Limits(_WEEK_US, 10 * _GB),
}


def role_by_name(definition: Definition, applications: list[str]) -> Role:
    """The role of a category made by an older release, which did not record it."""
    names = definition.schema.names
    if "_hash" in names and "_time" in names:
        return "side"
    if definition.name.endswith(".invalid"):
        return "invalid"
    of_application = any(definition.name.startswith(f"{application}.") for application in applications)
    if of_application:
        return "rejects" if ".rejects." in definition.name else "view"
    return "input"


def role_of(category: Category) -> Role:
    return category.definition.role or role_by_name(category.definition, category.store.folders("apps"))


def limits_of(category: Category) -> Limits:
    """What was set for the category, or its role's default."""
    return _set(category) or DEFAULTS[role_of(category)]


def set_limits(category: Category, limits: Limits | None) -> None:
    """Set the limits of a category; None for the default."""
    if limits is None:
        category.store.delete(_path(category))
        return
    body = {"category": category.id, "age_us": limits.age_us, "size_bytes": limits.size_bytes}
    category.store.replace(_path(category), document.encode(KIND, VERSION, body))


def keep(category: Category, age_us: int | None, size_bytes: int | None) -> None:
    """Set what a query says, each time its application starts. What it does not say (None) stays as it is."""
    if age_us is None and size_bytes is None:
        return
    now = limits_of(category)
    wanted = Limits(
        now.age_us if age_us is None else age_us, now.size_bytes if size_bytes is None else size_bytes
    )
    if wanted != _set(category):
        set_limits(category, wanted)


def is_set(category: Category) -> bool:
    return _set(category) is not None


def _set(category: Category) -> Limits | None:
    path = _path(category)
    where = f"{category.store.root}/{path}"
    remedy = f"set the limits again with `dovetail log retain {category.name}`; until then nothing is deleted"
    try:
        body = document.decode(category.store.read(path), KIND, VERSION, where=where, remedy=remedy)
        if body["category"] != category.id:
            raise ValueError("they are those of another category")
        return Limits(_limit(body["age_us"]), _limit(body["size_bytes"]))
    except FileNotFoundError:
        return None
    except (KeyError, ValueError) as error:
        raise CorruptFile(f"the file has no limits: {error}", where=where, hint=remedy) from error


def _limit(value: Any) -> int | None:
    return None if value is None else said.whole(value)


def _path(category: Category) -> str:
    return f"{category.folder}/retention.json"
