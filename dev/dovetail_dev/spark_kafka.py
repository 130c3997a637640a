"""The jars of Spark's own Kafka source, fetched once for each machine (`ivy.py`).

Of what they need only this is missing in PySpark, so nothing is followed further. The versions are those that
go together with Spark 4.3, for which there is no build of its own yet.
"""

from __future__ import annotations

from pathlib import Path

from dovetail_dev.ivy import fetched, retrieve

JARS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.1.0-preview1"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)


def kafka_source_jars() -> list[Path]:
    return sorted(fetched(f"spark-kafka-{JARS[0][2]}", _fetch).glob("*.jar"))


def _fetch(cache: Path, draft: Path) -> None:
    wanted = "\n".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" conf="source->default" transitive="false"/>'
        for org, name, rev in JARS
    )
    (cache / "spark-kafka.xml").write_text(
        '<ivy-module version="2.0"><info organisation="dovetail" module="spark-kafka"/>'
        f'<configurations><conf name="source"/></configurations><dependencies>{wanted}</dependencies>'
        "</ivy-module>"
    )
    pattern = f"{draft.name}/[artifact]-[revision].[ext]"
    asked = ["-ivy", "spark-kafka.xml", "-confs", "source", "-types", "jar", "-retrieve", pattern]
    retrieve(cache, "Spark's Kafka source", *asked)
