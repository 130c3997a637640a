"""What the launcher removes from its environment, and what it leaves."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from dovetail_dev.trim import HERE, trim

KEPT = (
    "numpy/testing/utils.py",
    "pandas/core/frame.py",
    "pyarrow/libarrow.so.2600",
    "pyarrow/libarrow_python.so.2600",
    "pyspark/jars/hive-storage-api-2.8.1.jar",
    "pyspark/jars/kubernetes-client-7.6.1.jar",
    "pyspark/jars/netty-common-4.2.13.Final.jar",
    "pyspark/jars/netty-transport-native-unix-common-4.2.13.Final.jar",
    "pyspark/jars/spark-sql_2.13-4.3.0.jar",
)
REMOVED = (
    "numpy/_core/tests/test_dtype.py",
    "pandas/tests/frame/test_api.py",
    "pyarrow/include/arrow/api.h",
    "pyarrow/libarrow_flight.so.2600",
    "pyarrow/libarrow_python.so",
    "pyarrow/libarrow_python.so.2600.1.0",
    "pyspark/jars/connect-repl/a.jar",
    "pyspark/jars/hive-exec-2.3.10-core.jar",
    "pyspark/jars/hive-serde-2.3.10.jar",
    "pyspark/jars/spark-mllib_2.13-4.3.0.jar",
)
NETTY = "netty-transport-native-epoll-4.2.13.Final-{}.jar"
OWN = HERE["linux", "x86_64"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name in (*KEPT, *REMOVED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    jars = tmp_path / "pyspark/jars"
    for platform in ("linux-x86_64", "linux-aarch_64", "osx-x86_64"):
        (jars / NETTY.format(platform)).touch()
    with zipfile.ZipFile(jars / "rocksdbjni-9.8.4.jar", "w") as jar:
        for platform in ("linux64.so", "linux64-musl.so", "linux-aarch64.so", "osx-arm64.jnilib"):
            jar.writestr(f"librocksdbjni-{platform}", platform)
        jar.writestr("org/rocksdb/RocksDB.class", "code")
    return tmp_path


def libraries(site: Path) -> dict[str, str]:
    with zipfile.ZipFile(site / "pyspark/jars/rocksdbjni-9.8.4.jar") as jar:
        return {name: jar.read(name).decode() for name in jar.namelist()}


def natives(site: Path) -> set[str]:
    return {path.name for path in (site / "pyspark/jars").glob(NETTY.format("*"))}


def test_what_no_command_uses_is_removed(site: Path) -> None:
    trim(site, OWN)
    assert all((site / name).exists() for name in KEPT)
    assert not any((site / name).exists() for name in REMOVED)


def test_native_libraries_of_other_platforms_are_removed(site: Path) -> None:
    trim(site, OWN)
    assert natives(site) == {NETTY.format("linux-x86_64")}
    assert libraries(site) == {
        "librocksdbjni-linux64.so": "linux64.so",
        "librocksdbjni-linux64-musl.so": "linux64-musl.so",
        "org/rocksdb/RocksDB.class": "code",
    }


def test_on_an_unknown_platform_all_native_libraries_stay(site: Path) -> None:
    before = libraries(site), natives(site)
    trim(site, None)
    assert (libraries(site), natives(site)) == before


def test_a_second_time_nothing_changes(site: Path) -> None:
    trim(site, OWN)
    jar = site / "pyspark/jars/rocksdbjni-9.8.4.jar"
    before = jar.stat()
    trim(site, OWN)
    after = jar.stat()
    # Not when it was read: a look at it is no change.
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    )
