"""The client's own interface in C, as far as reading takes it: many messages in one call.

The Python package makes an object of every message. That costs more than the client takes for all its own
work, so reading goes past it, to the library that the package brings along. The functions used here and the
layout of a message are in `rdkafka.h`, which keeps both the same over all versions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.connectors.kafka_client import kafka, refused_setting

CONSUMER, OK = 1, 0
_HANDLE, _TEXT, _INT, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
_FAILED = ctypes.CFUNCTYPE(None, _HANDLE, _INT, _TEXT, _HANDLE)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "conf_new": (_HANDLE, []),
    "conf_set": (_INT, [_HANDLE, _TEXT, _TEXT, _TEXT, _SIZE]),
    "conf_set_error_cb": (None, [_HANDLE, _FAILED]),
    "conf_set_log_cb": (None, [_HANDLE, _HANDLE]),
    "conf_destroy": (None, [_HANDLE]),
    "new": (_HANDLE, [_INT, _HANDLE, _TEXT, _SIZE]),
    "poll": (_INT, [_HANDLE, _INT]),
    "queue_get_consumer": (_HANDLE, [_HANDLE]),
    "queue_destroy": (None, [_HANDLE]),
    "consume_batch_queue": (ctypes.c_ssize_t, [_HANDLE, _INT, _HANDLE, _SIZE]),
    "incremental_assign": (_HANDLE, [_HANDLE, _HANDLE]),
    "incremental_unassign": (_HANDLE, [_HANDLE, _HANDLE]),
    "error_destroy": (None, [_HANDLE]),
    "error_string": (_TEXT, [_HANDLE]),
    "topic_partition_list_new": (_HANDLE, [_INT]),
    "topic_partition_list_add": (_HANDLE, [_HANDLE, _TEXT, ctypes.c_int32]),
    "topic_partition_list_set_offset": (_INT, [_HANDLE, _TEXT, ctypes.c_int32, ctypes.c_int64]),
    "topic_partition_list_destroy": (None, [_HANDLE]),
    "message_errstr": (_TEXT, [_HANDLE]),
    "message_destroy": (None, [_HANDLE]),
    "message_timestamp": (ctypes.c_int64, [_HANDLE, _HANDLE]),
    "message_headers": (_INT, [_HANDLE, _HANDLE]),
    "header_get_all": (_INT, [_HANDLE, _SIZE, _HANDLE, _HANDLE, _HANDLE]),
    "consumer_close": (_INT, [_HANDLE]),
    "destroy": (None, [_HANDLE]),
}


@cache
def _library() -> ctypes.CDLL:
    """The one that the Python package is linked with: what it exports is found through it."""
    kafka()
    import confluent_kafka.cimpl

    library = ctypes.CDLL(confluent_kafka.cimpl.__file__)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = library[f"rd_kafka_{name}"]
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library


@cache
def address(name: str) -> int:
    """For a function, for kernels to call."""
    return int(ctypes.cast(_library()[f"rd_kafka_{name}"], _HANDLE).value or 0)


def error_text(message: int) -> str:
    return str(_library().message_errstr(message).decode(errors="replace"))


class NativeConsumer:
    """Reads partitions that it is given, each from the offset given with it. `failed` gets a code and a text
    when a connection fails, during `consume`."""

    def __init__(self, settings: Mapping[str, Any], failed: Callable[[int, str], None]) -> None:
        self._library = library = _library()
        configuration = library.conf_new()
        why = ctypes.create_string_buffer(512)
        for name, value in settings.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if library.conf_set(configuration, name.encode(), text.encode(), why, len(why)) != OK:
                library.conf_destroy(configuration)
                raise refused_setting(name)

        def said(handle: Any, code: int, reason: bytes, opaque: Any) -> None:
            failed(code, reason.decode(errors="replace"))

        self._said = _FAILED(said)  # lives as long as the client, which calls it
        library.conf_set_error_cb(configuration, self._said)
        library.conf_set_log_cb(configuration, None)
        self._client = library.new(CONSUMER, configuration, why, len(why))
        if not self._client:
            library.conf_destroy(configuration)
            words = why.value.decode(errors="replace")
            raise refused_setting(next((name for name in settings if name in words), None))
        self._queue = library.queue_get_consumer(self._client)

    def assign(self, topic: str, offsets: Iterable[tuple[int, int]]) -> None:
        """Read these partitions, too, each from its offset on."""
        self._change(self._library.incremental_assign, topic, offsets)

    def unassign(self, topic: str, partition: int) -> None:
        self._change(self._library.incremental_unassign, topic, [(partition, 0)])

    def consume(self, most: int, wait_ms: int) -> NDArray[np.int64]:
        """Addresses of messages, to be freed by `kernels.messages.free`."""
        self._library.poll(self._client, 0)  # lets it call `failed`
        messages = np.zeros(most, np.int64)
        count = self._library.consume_batch_queue(self._queue, wait_ms, messages.ctypes.data, most)
        return messages[: max(0, count)]

    def close(self) -> None:
        self._library.queue_destroy(self._queue)
        self._library.consumer_close(self._client)
        self._library.destroy(self._client)

    def _change(self, change: Any, topic: str, offsets: Iterable[tuple[int, int]]) -> None:
        library = self._library
        places = library.topic_partition_list_new(1)
        for partition, offset in offsets:
            library.topic_partition_list_add(places, topic.encode(), partition)
            library.topic_partition_list_set_offset(places, topic.encode(), partition, offset)
        error = change(self._client, places)
        library.topic_partition_list_destroy(places)
        if error:
            words = library.error_string(error).decode(errors="replace")
            library.error_destroy(error)
            raise RuntimeError(f"the Kafka client does not change what it reads: {words}")
