"""Law: executors run the code that the driver runs, whatever is installed there.

A cluster's machines need Python and our dependencies, not this package: the driver packs it into a zip that
is named after its content, and Spark fetches that into an executor's working directory before the first task.
The executor's PYTHONPATH names the zip, so that Spark's Python daemon begins in it. But every process
compiles code in a zip again, kernels too. So the daemon leaves it (`leave_zip`) for a folder with the same
code: the installed package where it is the same, byte for byte, else one of this host's, unpacked and
compiled once for all executors and runs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import xxhash

import dovetail
from dovetail.engine.process_folder import hosts_folder

_PREFIX = "dovetail-"


def packed(folder: Path) -> Path:
    """This package as a zip in `folder`, named after its content."""
    package = Path(dovetail.__file__).resolve().parent
    path = folder / f"{_PREFIX}{digest(package)}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in _sources(package):
            archive.write(source, source.relative_to(package.parent))
    return path


def digest(package: Path) -> str:
    """A digest that identifies this code."""
    seen = xxhash.xxh3_128()
    for source in _sources(package):
        code = source.read_bytes()
        seen.update(f"{source.relative_to(package)} {len(code)}\n".encode())
        seen.update(code)
    return seen.hexdigest()


def leave_zip() -> None:
    """Where this process runs from the zip: begin it again from a folder with the same code."""
    archive = next((Path(part) for part in sys.path if _is_ours(part)), None)
    if archive is None or not str(dovetail.__file__).startswith(f"{archive}{os.sep}"):
        return
    wanted = archive.stem.removeprefix(_PREFIX)
    folder = _installed(wanted) or unpacked(archive, wanted, hosts_folder())
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [path for path in paths if path and not _is_ours(path)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *kept])
    os.execv(sys.executable, sys.orig_argv)


def unpacked(archive: Path, wanted: str, place: Path) -> Path:
    """The folder of that code below `place`. If it is there it is whole and its kernels are compiled."""
    folder = place / f"code-{wanted}"
    with open(place / f"code-{wanted}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one compiles, the others wait and find it done
        if not folder.exists():
            draft = place / f".code-{wanted}"
            shutil.rmtree(draft, ignore_errors=True)  # of one that was killed
            with zipfile.ZipFile(archive) as content:
                content.extractall(draft)
            compile_kernels(draft)
            draft.rename(folder)
    return folder


def compile_kernels(folder: Path) -> None:
    """Kernels that cannot be compiled here and now are compiled at their first call."""
    subprocess.run(
        [sys.executable, "-m", "dovetail.engine.warm"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # Spark reads what the daemon prints
        check=False,
    )


def _installed(wanted: str) -> Path | None:
    for part in map(Path, sys.path):
        package = part / "dovetail"
        if (package / "__init__.py").is_file() and digest(package) == wanted:
            return part
    return None


def _is_ours(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith(_PREFIX) and name.endswith(".zip")


def _sources(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))
