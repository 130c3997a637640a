"""A schema registry on loopback: Apicurio's, by the interface that Confluent's has, with schemas in memory.

It is fetched as the broker is (`ivy.py`)."""

from __future__ import annotations

import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from dovetail_dev.ivy import fetched, retrieve
from dovetail_dev.kafka_broker import PATIENCE_S
from dovetail_dev.ports import free_port

VERSION = "3.0.9"  # later ones need Java 21
_IVY = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="dovetail" module="schema-registry"/>
  <configurations><conf name="registry"/></configurations>
  <dependencies>
    <dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}" conf="registry->default">
      <artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""
_SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def unpacked_registry() -> Path:
    return fetched(f"registry-{VERSION}", _fetch)


def _fetch(cache: Path, draft: Path) -> None:
    (cache / "registry.xml").write_text(_IVY)
    (cache / "registry-settings.xml").write_text(_SETTINGS)
    asked = ["-settings", "registry-settings.xml", "-ivy", "registry.xml"]
    wanted = ["-confs", "registry", "-types", "tar.gz", "-retrieve", "registry/[artifact].[ext]"]
    retrieve(cache, "the registry", *asked, *wanted)
    with tarfile.open(cache / "registry/apicurio-registry-app.tar.gz") as packed:
        packed.extractall(draft, filter="data")
    (cache / "registry/apicurio-registry-app.tar.gz").unlink()


class RegistryServer:
    """Its schemas are gone when it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self.url = f"http://127.0.0.1:{self._port}/apis/ccompat/v7"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        home = unpacked_registry()
        runner = next(home.glob("*-runner.jar"))
        settings = [f"-Dquarkus.http.port={self._port}", "-Dquarkus.http.host=127.0.0.1"]
        with open(self._folder / "registry.log", "ab") as log:
            self._process = subprocess.Popen(
                ["java", *_SMALL, *settings, "-jar", str(runner)],
                cwd=self._folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "registry.log").read_text()[-3000:]
            assert time.monotonic() < deadline_s, "the schema registry does not answer"
            time.sleep(0.2)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=2):
                return True
        except OSError:
            return False
