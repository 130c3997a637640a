"""S3 for Spark's own part: checkpoints, file inputs and file outputs go through Hadoop's S3A.

A home is given as `s3://bucket/path`, which pyarrow reads. Spark calls the same place `s3a://` and needs jars
that PySpark does not bring: Hadoop's connector, and Amazon's SDK, in the parts that are needed instead of the
bundle of all its services that the connector names. Spark fetches them from Maven Central at the first start
and keeps them. Both sides take credentials, region and address from the usual variables of the environment;
an address in the home's URI wins.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyspark

from dovetail.log.homes.filesystem import shown
from dovetail.plan.physical import FileSink, FilesSource, Plan, SlicerStage

HADOOP = "3.5.0"
"""The Hadoop that PySpark brings: the connector must be of the same version."""
SDK = "2.35.4"
"""The SDK that this connector was built with."""
PACKAGES = (
    f"org.apache.hadoop:hadoop-aws:{HADOOP}",
    *(
        f"software.amazon.awssdk:{part}:{SDK}"
        for part in ("s3", "s3-transfer-manager", "sts", "apache-client")
    ),
)
EXCLUDED = ("software.amazon.awssdk:bundle", "io.netty:*", "org.slf4j:*", "commons-logging:*")
"""The bundle, and what PySpark brings already."""

VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_EC2_METADATA_DISABLED",
)
"""What the driver hands on to the executors, where it has them; Spark hands on the keys anyway."""


def spark_uri(path: str) -> str:
    """A path or URI as Spark takes it."""
    plain = shown(path)
    return f"s3a://{plain.removeprefix('s3://')}" if plain.startswith("s3://") else plain


def s3_settings(
    home: str, plan: Plan | None, settings: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """What a session needs where the application has anything on S3; empty where it has not. The user's own
    `settings` win over it. Without a plan: what any application of the home needs."""
    if not (home.startswith(("s3://", "s3a://")) or (plan is not None and uses_s3(plan))):
        return {}
    wanted = {f"spark.executorEnv.{name}": environment[name] for name in VARIABLES if environment.get(name)}
    wanted |= {**_reached(home, environment), **settings}
    for name, ours in (("spark.jars.packages", PACKAGES), ("spark.jars.excludes", EXCLUDED)):
        if not _has_connector(settings):
            wanted[name] = ",".join(filter(None, [*ours, settings.get(name)]))
    return wanted


def uses_s3(plan: Plan) -> bool:
    return any(place.startswith(("s3://", "s3a://")) for place in _places(plan))


def _reached(home: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Where S3 is, if it is not Amazon's: a server of one's own has no name for each bucket."""
    said = {name: values[-1] for name, values in parse_qs(urlsplit(home).query).items()}
    endpoint = said.get("endpoint_override")
    if endpoint and "://" not in endpoint:
        endpoint = f"{said.get('scheme', 'https')}://{endpoint}"
    endpoint = endpoint or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    region = said.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    found = {}
    if region or endpoint:
        found["spark.hadoop.fs.s3a.endpoint.region"] = region or "us-east-1"
    if endpoint:
        found["spark.hadoop.fs.s3a.endpoint"] = endpoint
        found["spark.hadoop.fs.s3a.path.style.access"] = "true"
    return found


def _has_connector(settings: Mapping[str, str]) -> bool:
    """The user brings the connector, or has it among Spark's jars; an empty list of packages says so too."""
    packages = settings.get("spark.jars.packages")
    given = [packages or "", settings.get("spark.jars", "")]
    return (
        packages == ""
        or any("hadoop-aws" in jars for jars in given)
        or any((Path(pyspark.__file__).parent / "jars").glob("hadoop-aws-*.jar"))
    )


def _places(plan: Plan) -> Iterable[str]:
    for stage in plan.stages:
        if isinstance(stage.output, FileSink):
            yield stage.output.path
        for table in stage.inputs if isinstance(stage, SlicerStage) else ():
            if isinstance(table.source, FilesSource):
                yield table.source.path
