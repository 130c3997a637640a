"""Places that a query reads or writes, and the patterns that reaches are written in.

    log:clicks              a category of the log; log:ads.* those that begin so
    /data/in                a folder or file, with all below it
    s3://bucket/folder      the same elsewhere
    kafka:broker:9092/topic a topic; brokers as the query names them
    postgres:...            a place of a connector, as it is shown to people
    secret:NAME             what SECRET("NAME") reveals
    *                       everything

Law: a path is compared after links and `..` are resolved, by whole parts. What cannot be compared is within
no reach but `*`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dovetail.errors import InputError
from dovetail.slicing.input_files import is_local, local_path

_MARKS = "*?[]{}\\"


@dataclass(frozen=True)
class Place:
    """`kind`: log, path, url, or the name of a connector. `name` is compared, `shown` is for people."""

    kind: str
    name: str
    shown: str

    @property
    def pattern(self) -> str:
        return self.name if self.kind in ("path", "url") else f"{self.kind}:{self.name}"

    def is_in(self, pattern: str) -> bool:
        if pattern == "*":
            return True
        if self.kind in ("path", "url"):
            return self.name == pattern or self.name.startswith(pattern.rstrip("/") + "/")
        return bool(self.name) and fnmatchcase(self.pattern, pattern)


def category(name: str) -> Place:
    return Place("log", name, f"category {name}")


def path(given: str) -> Place:
    """A file or folder. Of a pattern, the folder above its first mark; a pattern that could climb has no
    name, and so is within no reach."""
    if not is_local(given):
        return Place("url", "" if ".." in given else given.rstrip("/"), given)
    local = local_path(given)
    first = min((local.find(mark) for mark in _MARKS if mark in local), default=-1)
    if first >= 0:
        if ".." in local[first:]:
            return Place("path", "", given)
        local = local[:first].rpartition("/")[0] or ("/" if local.startswith("/") else ".")
    return Place("path", os.path.realpath(local), given)


def pattern_of(text: str) -> str:
    """A pattern as it is kept: paths are absolute and resolved."""
    kind, found, name = text.partition(":")
    if text == "*" or "://" in text:
        return text.rstrip("/") if text != "*" else text
    if text.startswith("/"):
        return os.path.realpath(text)
    if found and kind.isidentifier() and name:
        return text
    raise InputError(
        f"{text[:200]!r} is not a place",
        expected="log:NAME, an absolute path, s3://..., kafka:..., secret:NAME, or *",
    )
