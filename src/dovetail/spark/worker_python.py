"""The Python that Spark starts its workers with.

Spark puts `pyspark.zip` in front of their path. A zip holds no compiled code, so every process compiles
PySpark's sources anew, half a second each, and a cold start has ten of them. Where workers run on this
machine they can take PySpark from the environment it is installed in, compiled: so they are started through a
small script that drops the zips from the path.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import xxhash

_SCRIPT = """\
#!/bin/sh
kept=
IFS=:
for part in $PYTHONPATH; do
  case $part in */pyspark.zip | */py4j-*-src.zip) ;; *) kept=$kept${{kept:+:}}$part ;; esac
done
PYTHONPATH=$kept exec '{python}' "$@"
"""


def worker_python() -> str:
    """The path of the script for this interpreter, made if need be; the interpreter itself where that cannot
    be."""
    text = _SCRIPT.format(python=sys.executable)
    if "'" in sys.executable:
        return sys.executable
    folder = Path(tempfile.gettempdir()) / f"dovetail-{os.getuid()}"
    script = folder / f"python-{xxhash.xxh3_64_hexdigest(text.encode())}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            return sys.executable  # somebody else's: nothing of theirs is run
        if not (script.exists() and script.read_text() == text):
            draft = folder / f".python-{os.getpid()}"
            draft.write_text(text)
            draft.chmod(0o700)
            draft.replace(script)
    except OSError:
        return sys.executable
    return str(script) if os.access(script, os.X_OK) else sys.executable  # not on a `noexec` filesystem
