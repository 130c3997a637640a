"""The user of the command line, for events and the audit."""

from __future__ import annotations

import getpass


def me() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def audit_mine(home: str, deed: str) -> None:
    from dovetail.service.access.audit import Deed, audit

    audit(home, Deed(me(), "cli", deed))
