"""Passwords, as argon2id hashes. Checking one takes the same time whether or not its user exists."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from dovetail.errors import InputError

SHORTEST, LONGEST = 10, 1_000
_HASHER = PasswordHasher()


@cache
def _nobody() -> str:
    """The hash of a password that nobody has: what is checked where there is no user."""
    return _HASHER.hash(secrets.token_hex())


def hashed(password: str) -> str:
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(
            f"a password has {SHORTEST} to {LONGEST:,} characters",
            expected="a long one; a few words are easy to remember",
        )
    return _HASHER.hash(password)


def is_password(known: str | None, given: str) -> bool:
    try:
        return _HASHER.verify(known or _nobody(), given[:LONGEST]) and known is not None
    except (VerificationError, InvalidHashError):
        return False
