"""Remove from the launcher's environment what no command of ours can use: `python trim.py`, at set-up.

Laws. Only the environment that runs this is touched, and the launcher makes that for the command `dovetail`
alone: whoever calls `dovetail.join` has an environment of his own. What a setting or a master may choose
stays (Kubernetes, object stores, RocksDB). The patterns are those of the versions in `pyproject.toml`; one
that finds nothing does nothing.
"""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
import zipfile
from pathlib import Path

NEVER_IMPORTED = (
    "*/tests",
    "numpy/*/tests",
    "numba/cuda/tests",
    "pyarrow/include",  # headers, for those who compile against it
    "pyarrow/src",
    "pyarrow/libarrow_python*.so",  # the same files again, as linkers look for them
    "pyarrow/libarrow_python*.so.*.*",
    "pyarrow/*flight*",  # Arrow's remote procedure calls
    "zstandard/_cffi.*",  # for Pythons that are not CPython
    *("setuptools*", "pkg_resources", "_distutils_hack", "distutils-precedence.pth"),  # only 3.11 has them
    "pyspark/examples",
    "pyspark/jars/connect-repl",
)
NEVER_LOADED = (
    # Machine learning and graphs: an application is SQL.
    *("spark-mllib*", "spark-graphx*", "breeze*", "spire*", "cats-kernel*", "algebra*"),
    *("lapack*", "blas*", "arpack*", "JTransforms*", "JLargeArrays*"),
    # Spark Connect and the Scala shell.
    *("spark-connect*", "spark-repl*", "scala-compiler*", "jline*"),
    # Tables of Hive, its server and its own database. Spark has a session without them.
    *("spark-hive*", "hive-[!s]*", "hive-se*", "hive-shims*"),  # not hive-storage-api: ORC
    *("datanucleus*", "derby*", "javax.jdo*", "jdo-api*", "HikariCP*", "libfb303*"),
)
"""Jars."""
HERE = {
    ("linux", "x86_64"): ("linux64", "linux-x86_64"),
    ("linux", "aarch64"): ("linux-aarch64", "linux-aarch_64"),
    ("darwin", "x86_64"): ("osx-x86_64", "osx-x86_64"),
    ("darwin", "arm64"): ("osx-arm64", "osx-aarch_64"),
}
"""What RocksDB and Netty call this platform."""
NATIVE = (".so", ".jnilib", ".dll")


def trim(site: Path, here: tuple[str, str] | None) -> None:
    """`here`: how this platform is called; None keeps the libraries of all."""
    for pattern in NEVER_IMPORTED:
        for path in site.glob(pattern):
            _remove(path)
    jars = site / "pyspark" / "jars"
    for pattern in NEVER_LOADED:
        for path in jars.glob(f"{pattern}.jar"):
            _remove(path)
    if here is not None:
        rocksdb, netty = here
        for path in jars.glob("netty-*.Final-*.jar"):
            if not path.name.endswith(f"-{netty}.jar"):
                _remove(path)
        for path in jars.glob("rocksdbjni-*.jar"):
            _keep_own_library(path, f"librocksdbjni-{rocksdb}")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _keep_own_library(jar: Path, own: str) -> None:
    """Pack a jar again, without the native libraries of other platforms."""
    with zipfile.ZipFile(jar) as packed:
        names = packed.namelist()
        kept = [name for name in names if not name.endswith(NATIVE) or name.startswith(own)]
        if len(kept) == len(names) or not any(name.endswith(NATIVE) for name in kept):
            return
        draft = jar.with_suffix(".draft")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as smaller:
            for name in kept:
                smaller.writestr(packed.getinfo(name), packed.read(name))
    draft.replace(jar)


def main() -> None:
    trim(Path(sysconfig.get_path("purelib")), HERE.get((sys.platform, platform.machine())))


if __name__ == "__main__":
    main()
