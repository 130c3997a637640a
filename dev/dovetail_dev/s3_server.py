"""An S3 API on loopback (moto's server in a process of its own), with one empty bucket."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BUCKET = "dovetail-test"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_SERVER = """
import sys
from moto.moto_server import threaded_moto_server as moto_server

class Unconditional(moto_server.DomainDispatcherApplication):
    def __call__(self, environ, start_response):
        environ.pop("HTTP_IF_NONE_MATCH", None)
        return super().__call__(environ, start_response)

if "unconditional" in sys.argv:
    moto_server.DomainDispatcherApplication = Unconditional
server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("port", server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class S3:
    port: int

    def home(self, path: str) -> str:
        """The URI of a home, with where it is reached."""
        return f"s3://{BUCKET}/{path}?endpoint_override=127.0.0.1:{self.port}&scheme=http"

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to find s3://bucket/path here."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}


@contextmanager
def s3_server(folder: Path, *, conditional: bool = True) -> Iterator[S3]:
    """Not `conditional`: a server that knows no `If-None-Match`, and overwrites."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with open(folder / "s3.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVER, "conditional" if conditional else "unconditional"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=clean | CREDENTIALS,
            text=True,
        )
    try:
        assert process.stdout is not None
        started = re.match(r"port (\d+)", process.stdout.readline())
        assert started is not None, (folder / "s3.log").read_text()
        server = S3(int(started[1]))
        _make_bucket(server)
        yield server
    finally:
        process.kill()
        process.communicate()


def _make_bucket(server: S3) -> None:
    from pyarrow import fs

    fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        region="us-east-1",
        endpoint_override=f"127.0.0.1:{server.port}",
        scheme="http",
        allow_bucket_creation=True,
    ).create_dir(BUCKET)
