"""What a session on a cluster is given: our code first on the path, addresses that fit, the user's word."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.engine.index_folders import index_root
from dovetail.engine.masters import is_cluster, retrying
from dovetail.service.cli.run import index_dir_for
from dovetail.spark.session import cluster_settings

PATH = "spark.executorEnv.PYTHONPATH"


@pytest.mark.parametrize(
    ("master", "cluster"),
    [("local[2]", False), ("local", False), ("spark://head:7077", True), ("yarn", True), ("k8s://x", True)],
)
def test_what_is_a_cluster(master: str, cluster: bool) -> None:
    assert is_cluster(master) is cluster


def test_the_shipped_code_comes_before_what_the_user_has_there() -> None:
    wanted, code = cluster_settings("spark://head:7077", {PATH: "/opt/more"})
    assert code.is_file()
    assert wanted[PATH] == f"{code.name}:/opt/more"


def test_the_users_settings_win() -> None:
    assert cluster_settings("yarn", {})[0]["spark.task.maxFailures"] == "8"
    assert cluster_settings("yarn", {"spark.task.maxFailures": "2"})[0]["spark.task.maxFailures"] == "2"


def test_the_driver_is_on_loopback_if_the_cluster_is() -> None:
    assert cluster_settings("spark://127.0.0.1:7077", {})[0]["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in cluster_settings("spark://head:7077", {})[0]


def test_each_host_of_a_cluster_decides_where_its_indexes_lie_unless_the_run_was_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOVETAIL_INDEX_DIR", "/of/this/host")
    assert index_dir_for(None, "local[2]") == "/of/this/host"
    assert index_dir_for(None, "spark://head:7077") is None
    assert index_dir_for("/of/all", "spark://head:7077") == "/of/all"
    assert index_root(None) == Path("/of/this/host")
    assert index_root("/of/all") == Path("/of/all")
    monkeypatch.delenv("DOVETAIL_INDEX_DIR")
    assert index_root(None).name.startswith("dovetail-")


@pytest.mark.parametrize(
    ("master", "tried"),
    [
        ("local", "local[1,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("spark://head:7077", "spark://head:7077"),
    ],
)
def test_a_local_master_tries_a_task_again(master: str, tried: str) -> None:
    assert retrying(master) == tried
