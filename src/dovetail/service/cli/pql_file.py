"""The PQL file of a command: `check`, `plan` and `run` read it in the same way."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dovetail.errors import InputError

PqlFile = Annotated[Path, typer.Argument(metavar="FILE", help="A PQL file, or - for standard input.")]


def read_pql(file: Path) -> str:
    """The text of a PQL file, without its byte order mark, and with the modules that it names."""
    from dovetail.pql.modules import with_modules

    if str(file) == "-":
        return with_modules(sys.stdin.read().removeprefix("\ufeff"), Path())
    try:
        return with_modules(file.read_text(encoding="utf-8-sig"), file.parent, str(file))
    except FileNotFoundError:
        near = sorted(str(path) for path in Path(file.parent).glob("*.pql")) if file.parent.is_dir() else []
        what, hint = "the PQL file does not exist", f"there are {', '.join(near[:8])}" if near else None
    except UnicodeDecodeError as error:
        what, hint = "the PQL file is not text in UTF-8", f"byte {error.start} cannot be decoded"
    except OSError as error:
        what, hint = f"the PQL file cannot be read: {error.strerror}", None
    raise InputError(what, where=str(file), expected="a text file with a PQL program", hint=hint)
