"""Spark's classes, loaded once and kept: a third of a cold start.

A join on Spark loads thousands of classes from a hundred jars before its first row. Every JVM parses and
checks them again. Java can write them down as it holds them in memory (a dynamic class data archive) and map
that file the next time. `dovetail prepare` makes the archive. Without one, or with one that does not fit,
Java loads classes as usual: it compares its own version, the jars and, as asked here, the checksum.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pyspark
import xxhash

WRITING = "DOVETAIL_CLASS_ARCHIVE"
"""The variable that tells a process to let its JVM write the archive, and where."""

_IN_PLACE = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""Map the archive where it was written for. Elsewhere, which is Java's default, every pointer in it has to be
changed, and its pages become memory of that one JVM instead of pages of the file, which all share."""
_QUIET = ("-Xlog:disable", "-Xlog:all=warning:stderr")


def java_options() -> tuple[str, ...]:
    """How to start a JVM that writes the archive, where that is asked for, or one that reads it."""
    writing = os.environ.get(WRITING)
    if writing is not None:
        return (f"-XX:ArchiveClassesAtExit={writing}", *_QUIET)
    archive = find_archive()
    if archive is None:
        return ()
    return (f"-XX:SharedArchiveFile={archive}", "-XX:+VerifySharedSpaces", *_IN_PLACE, *_QUIET)


def find_archive() -> Path | None:
    """The archive for this Java and this Spark. Its name says its size: one cut short would crash the JVM."""
    place = archive_place()
    if place is None:
        return None
    found = place.parent.glob(f"{place.name}-*.jsa")
    return next((path for path in found if path == _named(place, path.stat().st_size)), None)


def archive_place() -> Path | None:
    """Folder and beginning of the archive's name, in the environment that Spark is installed in. None where
    there is no Java, or the path cannot stand among a JVM's options."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or any(mark in sys.prefix for mark in " \"'\\"):
        return None
    key = xxhash.xxh3_64_hexdigest(f"{os.path.realpath(java)} {pyspark.__version__}".encode())
    return Path(sys.prefix) / "dovetail" / f"classes-{key}"


def keep_archive(draft: Path, place: Path) -> Path:
    """Give a written archive its name."""
    return draft.replace(_named(place, draft.stat().st_size))


def _named(place: Path, size: int) -> Path:
    return place.with_name(f"{place.name}-{size}.jsa")
