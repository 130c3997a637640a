"""An Iceberg REST catalog on loopback: the servlet that Iceberg's own tests ask, over a catalog in memory.

Its jars are fetched as the broker's are (`ivy.py`). None of them has a program that starts it, so it is put
together from here, by the gateway to Java that PySpark brings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

from dovetail_dev.ivy import fetched, retrieve
from dovetail_dev.ports import free_port

VERSION, JETTY = "1.10.0", "12.0.16"
_IVY = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="dovetail" module="iceberg-rest"/>
  <configurations><conf name="rest"/></configurations>
  <dependencies>
    <dependency org="org.apache.iceberg" name="iceberg-core" rev="{VERSION}" conf="rest->default">
      <artifact name="iceberg-core" type="jar" ext="jar"/>
      <artifact name="iceberg-core" type="jar" ext="jar" m:classifier="tests"/>
    </dependency>
    <dependency org="org.eclipse.jetty.ee10" name="jetty-ee10-servlet" rev="{JETTY}" conf="rest->default"/>
  </dependencies>
</ivy-module>
"""


def rest_jars() -> Path:
    return fetched(f"iceberg-rest-{VERSION}", _fetch)


def _fetch(cache: Path, draft: Path) -> None:
    (cache / "iceberg-rest.xml").write_text(_IVY)
    pattern = f"{draft.name}/[artifact]-[revision](-[classifier]).[ext]"
    asked = ["-ivy", "iceberg-rest.xml", "-confs", "rest", "-types", "jar", "bundle"]
    retrieve(cache, "the Iceberg REST catalog", *asked, "-retrieve", pattern)


@contextmanager
def iceberg_rest(warehouse: Path) -> Iterator[str]:
    """Its address. Tables are files below the warehouse; which there are is forgotten at the end."""
    brought, port = Path(pyspark.__file__).parent / "jars", free_port()
    gateway_port, process = launch_gateway(
        jarpath=str(next(brought.glob("py4j-*.jar"))),
        classpath=":".join([f"{rest_jars()}/*", *map(str, brought.glob("hadoop-client-*.jar"))]),
        javaopts=["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        die_on_exit=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=gateway_port, auto_convert=True))
    try:
        iceberg, jetty = gateway.jvm.org.apache.iceberg, gateway.jvm.org.eclipse.jetty
        catalog = iceberg.inmemory.InMemoryCatalog()
        catalog.initialize("rest", {"warehouse": f"file:{warehouse}"})
        servlet = iceberg.rest.RESTCatalogServlet(iceberg.rest.RESTCatalogAdapter(catalog))
        handler = jetty.ee10.servlet.ServletContextHandler()
        handler.addServlet(jetty.ee10.servlet.ServletHolder(servlet), "/*")
        server = jetty.server.Server(gateway.jvm.java.net.InetSocketAddress("127.0.0.1", port))
        server.setHandler(handler)
        server.start()
        yield f"http://127.0.0.1:{port}"
    finally:
        gateway.shutdown()
        process.kill()
        # What it writes is read, and closed, by a thread of the gateway's: to read here as well is a race.
        process.stdin.close()
        process.wait()
