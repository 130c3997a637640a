"""What tests need from Maven Central, fetched once for each machine by the Ivy that PySpark brings.

One process fetches at a time: Ivy's own cache is shared, and takes no locks."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyspark


def fetched(name: str, fetch: Callable[[Path, Path], None]) -> Path:
    """The folder of this name. If it is not there, `fetch` fills a draft of it below the cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dovetail-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    with open(cache / "fetching.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            draft = cache / f"{name}.draft"
            fetch(cache, draft)
            draft.rename(folder)
    return folder


def retrieve(cache: Path, what: str, *arguments: str) -> None:
    """Run Ivy there. Where something cannot be fetched whoever needs it fails, with what Ivy said."""
    ivy = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))
    done = subprocess.run(
        ["java", "-jar", str(ivy), "-cache", "ivy", *arguments],
        cwd=cache,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{what} cannot be fetched:\n{done.stdout[-3000:]}{done.stderr}"
