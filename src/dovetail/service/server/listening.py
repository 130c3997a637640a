"""Where the service listens, and whether that is safe.

Law: on any address but loopback it listens only where there are users, and TLS or a proxy that was named.
There is no link then: people log in.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dovetail.errors import SettingError
from dovetail.service.access.people import read_access

LOOPBACKS = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Listening:
    """`proxy`: the address by which people reach a proxy in front of us, which speaks TLS."""

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    proxy: str | None = None

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACKS

    @property
    def has_links(self) -> bool:
        return self.is_loopback and self.proxy is None

    def hosts(self, port: int) -> frozenset[str]:
        """What a request may call us."""
        ours = {f"{_bracketed(name)}:{port}" for name in (self.host, *self.names)}
        ours |= {f"localhost:{port}"} if self.is_loopback else set()
        ours |= set(self.names) if port == 443 else set()
        return frozenset(ours | ({urlsplit(self.proxy).netloc} if self.proxy else set()))

    def address(self, port: int) -> str:
        if self.proxy:
            return self.proxy.rstrip("/")
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://{_bracketed(self.names[0] if self.names else self.host)}:{port}"


def require_safe(wanted: Listening, home: str) -> None:
    if (wanted.certificate is None) != (wanted.key is None):
        raise SettingError("a certificate and its key go together", expected="--tls-cert and --tls-key")
    for file in (wanted.certificate, wanted.key):
        if file is not None and not file.is_file():
            raise SettingError("the service cannot read its certificate", where=str(file))
    if wanted.proxy is not None:
        place = urlsplit(wanted.proxy)
        if place.scheme != "https" or not place.netloc or place.path not in ("", "/"):
            raise SettingError(
                f"{wanted.proxy!r} is not the address of a proxy", where="--proxy", expected="https://NAME"
            )
    if wanted.has_links:
        return
    hint = "let an SSH tunnel reach loopback; or make users, and give it a certificate or name a proxy"
    if not any(user.active for user in read_access(home).users):
        raise SettingError(
            f"the service does not listen on {wanted.host}: there are no users",
            where="--host" if not wanted.is_loopback else "--proxy",
            expected="users who log in: `dovetail user add NAME --admin`",
            hint=hint,
        )
    if wanted.certificate is None and wanted.proxy is None:
        raise SettingError(
            f"the service does not listen on {wanted.host} without TLS",
            where="--host",
            expected="--tls-cert and --tls-key, or --proxy with the address of a proxy that speaks TLS",
            hint=hint,
        )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
