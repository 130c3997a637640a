"""zstd, and the dictionary of a category: what its rows have in common, so that small blocks compress like
large ones.

Law: a dictionary never changes, and is named by its content. It is written before the first segment that
names it and removed after the last. Any number of writers may train one at once: each is as good, and the
newest commit says which is used next.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import zstandard

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.log.cache import DICTIONARIES
from dovetail.log.document import checksum
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

KIND, VERSION = "dovetail.dictionary", 1
FOLDER = "dictionaries"

_REMEDY = "restore the file from a copy; without it the segments that name it cannot be read"


LEVEL = 1
"""Level 3 saves two bytes in a hundred and takes 1.7 times as long."""

CodecError = zstandard.ZstdError


class Codec:
    """Compresses and decompresses blocks. zstd's contexts serve one thread at a time."""

    def __init__(self, dictionary: bytes | None = None) -> None:
        prepared = None
        if dictionary is not None:
            prepared = zstandard.ZstdCompressionDict(dictionary)
            prepared.precompute_compress(level=LEVEL)
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, dict_data=prepared, write_dict_id=False)
        self._decompressor = zstandard.ZstdDecompressor(dict_data=prepared)
        self._lock = threading.Lock()

    def compress(self, data: Any) -> bytes:
        with self._lock:
            return self._compressor.compress(data)

    def decompress(self, data: Any) -> bytes:
        with self._lock:
            return self._decompressor.decompress(data)


PLAIN = Codec()
"""Without a dictionary."""


def train(samples: Iterable[bytes], max_bytes: int) -> bytes | None:
    """A dictionary of what the samples have in common; None if there is too little of it."""
    try:
        return zstandard.train_dictionary(max_bytes, [*samples]).as_bytes()
    except CodecError:
        return None


@dataclass(frozen=True)
class Dictionary:
    """`ratio` is what it achieved when it was new, on rows that it was not trained on."""

    content: bytes
    ratio: float

    @cached_property
    def id(self) -> str:
        return checksum(self.content)

    @cached_property
    def codec(self) -> Codec:
        return Codec(self.content)


def path_of(category: Category, id_: str) -> str:
    return f"{category.folder}/{FOLDER}/{id_}.json"


def write(category: Category, dictionary: Dictionary) -> None:
    body = {"ratio": dictionary.ratio, "content": base64.b64encode(dictionary.content).decode()}
    category.store.make_folder(f"{category.folder}/{FOLDER}")
    category.store.create(path_of(category, dictionary.id), document.encode(KIND, VERSION, body))


def read(category: Category, id_: str) -> Dictionary:
    """The dictionary of that name, read and checked once per process."""
    key = category.id, id_
    found = DICTIONARIES.get(key)
    if found is None:
        found = _read(category, id_)
        DICTIONARIES.put(key, found)
    return found


def codec_of(category: Category, id_: str | None) -> Codec:
    """What unpacks a segment that names this dictionary, or none."""
    return PLAIN if id_ is None else read(category, id_).codec


def _read(category: Category, id_: str) -> Dictionary:
    path = path_of(category, id_)
    where = f"{category.store.root}/{path}"
    expected = f"a dictionary of category {category.name} whose content has the checksum {id_}"
    try:
        data = category.store.read(path)
    except FileNotFoundError:
        raise CorruptFile(
            "a dictionary is missing that segments were compressed with",
            where=where,
            expected=expected,
            hint=_REMEDY,
        ) from None
    body = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        found = Dictionary(base64.b64decode(body["content"], validate=True), said.real(body["ratio"]))
        sound = found.id == id_
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise CorruptFile(
            "the file is a dictionary, but not this one", where=where, expected=expected, hint=_REMEDY
        )
    return found
