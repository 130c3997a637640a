"""What Spark learns about S3: where it is, with which jars, and nothing where there is no need."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from dovetail.plan.physical import FileSink, Plan, SlicerStage
from dovetail.spark.s3 import HADOOP, PACKAGES, s3_settings, spark_uri

NOTHING = Plan("app", ())
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "HOME": "/root"}


def test_the_connector_is_of_the_hadoop_that_spark_brings() -> None:
    assert list((Path(pyspark.__file__).parent / "jars").glob(f"hadoop-client-api-{HADOOP}.jar"))


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/home", "/data/home"),
        ("s3://bucket/home?endpoint_override=x&scheme=http", "s3a://bucket/home"),
        ("s3://key:secret@bucket/home", "s3a://bucket/home"),
        ("hdfs://name/home", "hdfs://name/home"),
    ],
)
def test_paths_as_spark_takes_them(path: str, uri: str) -> None:
    assert spark_uri(path) == uri


def test_nothing_is_set_without_s3() -> None:
    assert s3_settings("/data/home", NOTHING, {}, KEYS) == {}


def test_an_output_on_s3_is_enough() -> None:
    stage = SlicerStage("t", (), (), "", FileSink("parquet", "s3://bucket/out"))
    found = s3_settings("/data/home", Plan("app", (stage,)), {}, KEYS)
    assert found["spark.jars.packages"] == ",".join(PACKAGES)
    assert "software.amazon.awssdk:bundle" in found["spark.jars.excludes"]
    assert found["spark.executorEnv.AWS_SECRET_ACCESS_KEY"] == "secret"
    assert not any("HOME" in name or "endpoint" in name for name in found)


def test_a_server_of_ones_own_by_the_uri_or_by_the_environment() -> None:
    variable = {"AWS_ENDPOINT_URL": "http://there:1"}
    by_variable = s3_settings("s3://bucket/home", NOTHING, {}, variable)
    by_uri = s3_settings("s3://bucket/home?endpoint_override=here:2&scheme=http", NOTHING, {}, variable)
    assert by_variable["spark.hadoop.fs.s3a.endpoint"] == "http://there:1"
    assert by_uri["spark.hadoop.fs.s3a.endpoint"] == "http://here:2"
    assert by_uri["spark.hadoop.fs.s3a.path.style.access"] == "true"


@pytest.mark.parametrize(
    ("given", "packages"),
    [
        ({}, ",".join(PACKAGES)),
        ({"spark.jars.packages": "a:b:1"}, ",".join([*PACKAGES, "a:b:1"])),
        ({"spark.jars.packages": "org.apache.hadoop:hadoop-aws:9"}, "org.apache.hadoop:hadoop-aws:9"),
        ({"spark.jars.packages": ""}, ""),
        ({"spark.jars": "/jars/hadoop-aws-3.5.0.jar"}, None),
    ],
)
def test_whoever_brings_the_connector_is_not_given_another(
    given: dict[str, str], packages: str | None
) -> None:
    found = s3_settings("s3://bucket/home", NOTHING, given, {})
    assert found.get("spark.jars.packages") == packages


def test_the_users_settings_win() -> None:
    given = {"spark.hadoop.fs.s3a.endpoint": "http://mine:3"}
    found = s3_settings("s3://bucket/home?endpoint_override=here:2", NOTHING, given, {})
    assert found["spark.hadoop.fs.s3a.endpoint"] == "http://mine:3"
