"""The modules that a PQL file names, put behind its text: `CREATE MODULE "scores.py" AS $$ .. $$;`

So a text that is sent to a service or kept as a version is whole, and does not change when the file does.
Places in the text above stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import DovetailError, InputError
from dovetail.plan.source import PqlText
from dovetail.pql.tokens import scan, split_statements, word

LARGEST_BYTES = 1_000_000


def with_modules(text: str, folder: Path, name: str = "<string>") -> str:
    """The text with every module in it that it names and that is a file of the folder. What is missing, the
    parser reports."""
    if not re.search(r"\bFUNCTION\b", text, re.I):
        return text
    groups: list[list[Token]] = []
    with suppress(DovetailError):  # the parser says what is wrong with the text
        groups, _ = split_statements(scan(PqlText(name, text)))
    there = set(_named(groups, "MODULE"))
    added = []
    for module in _named(groups, "FUNCTION"):
        if module not in there and (folder / module).is_file():
            there.add(module)
            added.append(_statement(module, _read(folder / module)))
    ended = text.rstrip() if text.rstrip().endswith(";") else f"{text.rstrip()};"
    return "\n".join([ended, *added]) + "\n" if added else text


def _named(groups: list[list[Token]], kind: str) -> Iterator[str]:
    """The modules that statements of a kind name: a function behind FROM, a module in front."""
    for tokens in groups:
        if [word(token) for token in tokens[:2]] != ["CREATE", kind]:
            continue
        for before, token in pairwise(tokens):
            if word(before) == ("MODULE" if kind == "MODULE" else "FROM"):
                if token.token_type is TokenType.STRING:
                    yield token.text
                break


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_BYTES:
            raise InputError(
                "the module is too large to be a part of a query",
                where=str(file),
                expected=f"at most {LARGEST_BYTES:,} bytes",
                hint="install it as a package wherever tasks run, and import that",
            )
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the module cannot be read: {error}", where=str(file)) from None


def _statement(module: str, code: str) -> str:
    tag = "module"
    while f"${tag}$" in code:
        tag += "_"
    return f"CREATE MODULE {_quoted(module)} AS ${tag}$\n{code}${tag}$;"


def _quoted(module: str) -> str:
    return '"' + module.replace("\\", "\\\\").replace('"', '\\"') + '"'
