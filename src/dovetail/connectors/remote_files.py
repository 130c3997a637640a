"""Files elsewhere, by pyarrow: whether an error of theirs says that they are away for now."""

from __future__ import annotations

_DAMAGED = ("Couldn't deserialize thrift", "Unexpected end of stream", "Corrupt ")
"""Words of pyarrow's about what is in a file. It calls these errors of input and output, too."""


def is_away(error: BaseException) -> bool:
    """A filesystem that does not answer. An error of this machine's own files has a number."""
    if type(error) is not OSError or error.errno is not None:
        return False
    return not any(word in str(error) for word in _DAMAGED)
