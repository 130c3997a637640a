"""The Python that Spark starts its workers with.

Spark puts `pyspark.zip` in front of their path. A zip holds no compiled code, so every process compiles
PySpark's sources again, half a second each, and a cold start has ten of them. Workers on this machine can
take PySpark, compiled, from the environment it is installed in. So we start them through a small script that
drops the zips from the path, and has the nursery fork them where there is one (`nursery.py`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import xxhash

from dovetail.spark.shipped_code import hosts_folder

_SCRIPT = """\
#!/bin/sh
kept=
IFS=:
for part in $PYTHONPATH; do
  case $part in */pyspark.zip | */py4j-*-src.zip) ;; *) kept=$kept${{kept:+:}}$part ;; esac
done
export PYTHONPATH="$kept"
if [ -S "$DOVETAIL_NURSERY" ]; then exec '{python}' -I -S '{client}' "$@"; fi
exec '{python}' "$@"
"""


def worker_python() -> str:
    """The path of the script for this interpreter, or the interpreter itself where no script can run."""
    client = str(Path(__file__).with_name("nursery_client.py"))
    text = _SCRIPT.format(python=sys.executable, client=client)
    if "'" in sys.executable + client:
        return sys.executable
    folder = hosts_folder()
    script = folder / f"python-{xxhash.xxh3_64_hexdigest(text.encode())}"
    try:
        if not (script.exists() and script.read_text() == text):
            draft = folder / f".python-{os.getpid()}"
            draft.write_text(text)
            draft.chmod(0o700)
            draft.replace(script)
    except OSError:
        return sys.executable
    return str(script) if os.access(script, os.X_OK) else sys.executable  # not on a `noexec` filesystem
