"""A PostgreSQL server on loopback, of its own user, in a folder of its own. It can be stopped and started."""

from __future__ import annotations

import fcntl
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail_dev.ports import free_port

PASSWORD = "a wholly secret word"


class Postgres:
    """`uri` is what a client needs, its password included."""

    def __init__(self, folder: Path) -> None:
        self.bin = _binaries()
        self.data = folder / "data"
        self.port = free_port()
        self.user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            shutil.chown(folder, self.user)
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._call(
            "initdb", "-D", self.data, "-A", "scram-sha-256", "-U", "tester", f"--pwfile={password}", "-N"
        )
        settings = (
            f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\n"
        )
        with open(self.data / "postgresql.auto.conf", "a") as file:
            file.write(settings)

    @property
    def uri(self) -> str:
        return f"postgresql://tester:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        self._call("pg_ctl", "-D", self.data, "-w", "-t", "300", "-l", self.data / "server.log", "start")

    def stop(self, mode: str = "fast") -> None:
        """`immediate`: without a shutdown, so that the next start recovers."""
        self._call("pg_ctl", "-D", self.data, "-w", "-t", "300", "-m", mode, "stop")

    def kill(self) -> None:
        """As a machine that loses its power."""
        self.stop("immediate")

    def _call(self, program: str, *arguments: object) -> None:
        as_user = {"user": self.user} if os.getuid() == 0 else {}
        subprocess.run(
            [os.path.join(self.bin, program), *map(str, arguments)],
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
            **as_user,  # type: ignore[call-overload]
        )


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    folder = Path(
        tempfile.mkdtemp(prefix="dovetail-postgres-")
    )  # pytest's own folders are not for other users
    try:
        server = Postgres(folder)
        server.start()
        try:
            yield server
        finally:
            if (server.data / "postmaster.pid").exists():
                server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries() -> str:
    """Where PostgreSQL's programs are. A machine that has none gets Debian's, once."""
    with open(Path(tempfile.gettempdir()) / "dovetail-postgres.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _found()
        if found is None and shutil.which("apt-get") and os.getuid() == 0:
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            for command in (["update"], ["install", "-y", "--no-install-recommends", "postgresql"]):
                subprocess.run(["apt-get", "-qq", *command], check=True, env=quiet, stdout=subprocess.DEVNULL)
            found = _found()
    assert found is not None, "PostgreSQL is not installed: apt install postgresql"
    return found


def _found() -> str | None:
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    return next((place for place in places if os.path.exists(f"{place}/initdb")), None) or (
        os.path.dirname(os.path.realpath(on_path)) if on_path else None
    )
