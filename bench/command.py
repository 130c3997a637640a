"""The command of a benchmark: its options, its progress, and its result as tables or as one JSON document."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any


class Command(argparse.ArgumentParser):
    """Options are added in one line each. Every benchmark has --json."""

    def __init__(self, name: str, description: str | None) -> None:
        super().__init__(prog=f"dovetail bench {name}", description=description)
        self.add_argument("--json", action="store_true", help="print one JSON document instead of tables")

    def number(self, option: str, default: float | None, what: str, kind: type = int) -> None:
        """A number above zero; `kind` is that of the default."""
        kind = kind if default is None else type(default)

        def read(text: str) -> float:
            value: float = kind(text)
            if value <= 0:
                raise argparse.ArgumentTypeError(f"{text} is not positive")
            return value

        read.__name__ = kind.__name__  # argparse names it when the text is no number at all
        self.add_argument(option, type=read, default=default, help=_with_default(what, default))

    def count(self, option: str, default: int, what: str) -> None:
        """A whole number; 0 leaves something out."""
        self.add_argument(option, type=int, default=default, help=_with_default(what, default))

    def numbers(self, option: str, default: list[int], what: str) -> None:
        """Two whole numbers above zero, or more, with commas between them."""
        shown = ",".join(map(str, default))

        def read(text: str) -> list[int]:
            found = [int(number) for number in text.split(",")]
            if len(found) < 2 or min(found) <= 0:
                raise argparse.ArgumentTypeError(f"{text} is not two or more numbers above zero")
            return found

        self.add_argument(
            option, type=read, default=default, metavar="N,N", help=f"{what} (default: {shown})"
        )

    def parts(self, parts: tuple[str, ...]) -> None:
        self.add_argument("--only", choices=parts, action="append", help="one part alone; can be repeated")


def _with_default(what: str, default: float | None) -> str:
    return what if default is None else f"{what} (default: {default})"


def tell(line: str) -> None:
    """A line of progress."""
    print(line, file=sys.stderr, flush=True)


def finish(as_json: bool, document: Any, show: Callable[[], None]) -> None:
    if as_json:
        print(json.dumps(document, indent=1))
    else:
        show()
