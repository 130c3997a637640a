"""What is shown of a paper: an exhibit is one of its figures or tables, or a number of its text.

Law: what a page says of our own values is what `make` returned. A finding is a sentence of the paper, with
its section, and a relation over our values that is true or false; nobody writes the verdict by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench.tables import Table

Way = Literal["measured", "simulated", "simulated clock", "computed", "not shown"]
"""`simulated`: cores that do not exist. `simulated clock`: the product's own code, with time passed in.
`computed`: from data or a formula alone."""

HELD = {True: "held", False: "not held", None: "not seen"}


@dataclass(frozen=True)
class Effort:
    """How much work. `quick` shows that an exhibit can be made; its values mean nothing."""

    quick: bool = False
    scale: float = 0.1
    """Share of the paper's rates and rows, for joins within a window."""

    threads: int = 2
    seconds: float = 1.0
    data: Path | None = None
    """A folder with the authors' own files."""

    out: Path | None = None
    """Where pictures go; None draws none."""

    seed: int = 1


@dataclass(frozen=True)
class Made:
    """An exhibit's tables, each under its caption, its pictures, and the values that findings look at."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    pictures: Sequence[str] = ()
    """Names of files in the folder of the pages."""

    values: Mapping[str, Any] = field(default_factory=dict)
    right: bool = True
    """Every run that was measured gave the right rows."""

    scale: float = 1.0
    """Which share of the paper's rates and rows was sent."""


@dataclass(frozen=True)
class Finding:
    """`says`: the paper's words, shortened. `relation`: what is asked of our values. `holds` may give None
    where the run could not show it. `scale`: a sentence about a rate says nothing of a run that sent less
    than this share of it."""

    section: str
    says: str
    relation: str
    holds: Callable[[Mapping[str, Any]], bool | None]
    scale: float = 0.0


@dataclass(frozen=True)
class Exhibit:
    name: str
    """`figure_9`, `table_6`: also the name of its block on the page."""

    title: str
    section: str
    way: Way
    make: Callable[[Effort], Made] | None = None
    findings: Sequence[Finding] = ()
    note: str = ""
    """How it differs from the paper's, or why it is not shown."""

    def __post_init__(self) -> None:
        if (self.make is None) != (self.way == "not shown"):
            raise ValueError(f"{self.name}: either it is made or it is not shown")
        if self.make is None and not self.note:
            raise ValueError(f"{self.name}: say why it is not shown")

    @property
    def label(self) -> str:
        kind, *parts = self.name.split("_")
        numbers = [part for part in parts if part not in _ASIDE and part != "and"]
        asides = [_ASIDE[part] for part in parts if part in _ASIDE]
        if kind == "text":
            first = f"Text of {'.'.join(numbers)}"
        elif kind == "figures":
            first = f"Figures {', '.join(numbers[:-1])} and {numbers[-1]}"
        else:
            first = f"{kind.capitalize()} {' '.join(numbers)}"
        return ", ".join([first, *asides])


_ASIDE = {"measured": "measured", "earlier": "earlier version", "spark": "over Spark", "change": "change"}
"""What a name says after its number."""


@dataclass(frozen=True)
class Paper:
    name: str
    page: str
    exhibits: Sequence[Exhibit]

    def exhibit(self, name: str) -> Exhibit | None:
        return next((one for one in self.exhibits if one.name == name), None)

    def contents(self) -> Table:
        """Every figure and table of the evaluation, and how it is shown."""
        rows = [(one.label, one.title, one.section, one.way, one.note) for one in self.exhibits]
        return Table(("", "what it shows", "section", "here", "note"), rows, figures=False)


def judged(exhibit: Exhibit, made: Made) -> Table | None:
    if not exhibit.findings:
        return None
    rows = [(one.section, one.says, one.relation, HELD[_verdict(one, made)]) for one in exhibit.findings]
    return Table(("section", "the paper finds", "asked of the values here", ""), rows, figures=False)


def _verdict(finding: Finding, made: Made) -> bool | None:
    """A run that left out what the finding is about says nothing of it, nor does one without a value for it:
    None, where no match had a latency."""
    if made.scale < finding.scale:
        return None
    try:
        return finding.holds(made.values)
    except (KeyError, IndexError):
        return None
    except TypeError:
        if _lacks_a_value(made.values):
            return None
        raise  # a mistake in the finding


def _lacks_a_value(values: object) -> bool:
    if isinstance(values, Mapping):
        values = list(values.values())
    return values is None or (isinstance(values, list | tuple) and any(map(_lacks_a_value, values)))


def block(exhibit: Exhibit, made: Made) -> str:
    """What stands on the page, between its comments."""
    parts = []
    for caption, table in made.tables.items():
        parts += [f"{caption}:" if caption else "", table.markdown()]
    parts += [f"![{exhibit.label}]({picture})" for picture in made.pictures]
    verdicts = judged(exhibit, made)
    if verdicts:
        parts.append(verdicts.markdown())
    return "\n\n".join(part for part in parts if part)
