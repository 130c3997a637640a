"""Small JSON files that know what they are: format name, version, checksum, body.

    {"format": "dovetail.commit", "version": 1, "checksum": "9c1e...", "body": {...}}

Law: what `decode` returns is what `encode` was given, or it raises. The checksum (xxh3, 64 bits) covers
format, version and body in canonical JSON, in this and in every later version: so a flipped bit in the
version is a corrupt file, and not a file of the future.
"""

from __future__ import annotations

import json
from typing import Any

import xxhash

from dovetail.errors import CorruptFile, UnknownVersion


def encode(kind: str, version: int, body: dict[str, Any]) -> bytes:
    """The file's bytes; `kind` is the name of the format."""
    document = {"format": kind, "version": version, "checksum": _checksum(kind, version, body), "body": body}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def decode(
    data: bytes, kind: str, version: int | tuple[int, ...], *, where: str, remedy: str
) -> dict[str, Any]:
    """The body, of one of the versions that are read. `remedy` says what to do if the file is corrupt."""
    versions = version if isinstance(version, tuple) else (version,)
    try:
        document = json.loads(data.decode())
        found, body, checksum = document["version"], document["body"], document["checksum"]
        sound = document["format"] == kind and checksum == _checksum(kind, found, body)
        sound = sound and isinstance(body, dict)
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise CorruptFile(
            "the file is corrupt: it is not what was written",
            where=where,
            expected=f"a {kind} file whose checksum matches its content",
            hint=remedy,
        )
    if found not in versions:
        raise UnknownVersion(
            f"the file has version {found} of the format {kind}",
            where=where,
            expected=f"version {' or '.join(map(str, versions))}",
            hint="read this home with the release of Dovetail that wrote it, or a newer one",
        )
    return body  # type: ignore[no-any-return]


def checksum(*pieces: Any) -> str:
    """xxh3 (64 bits) of bytes or buffers laid end to end, in hexadecimal."""
    found = xxhash.xxh3_64()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()


def _checksum(kind: str, version: int, body: Any) -> str:
    canonical = json.dumps([kind, version, body], separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return checksum(canonical.encode())
