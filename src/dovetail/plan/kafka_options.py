"""The options of `FROM KAFKA(...)`."""

from __future__ import annotations

from dovetail.connectors.kafka_client import READING, SECRETS, SETTINGS
from dovetail.connectors.schema_registry import NAMES as REGISTRY

FORMATS = ("json", "avro", "protobuf", "csv", "raw")
BY_REGISTRY = ("avro", "protobuf")
TIMES = ("iso", "seconds", "milliseconds", "microseconds")
DATA_LOSS = ("stop", "continue")

FIELDS = {
    "key": ("STRING", "BINARY"),
    "headers": ("MAP<STRING, STRING>", "MAP<STRING, BINARY>"),
    "partition": ("INT", "BIGINT"),
    "offset": ("BIGINT",),
    "timestamp": ("TIMESTAMP",),
}
"""Parts of a record beside its value that can be columns, and the types of such a column: the first one where
the table has no list of columns."""

CHOICES = {"format": FORMATS, "times": TIMES, "on_data_loss": DATA_LOSS}
OWN = ("brokers", "format", "start", *FIELDS, "times", "sep", "max_records_per_second", "on_data_loss")
KNOWN = (*OWN, *REGISTRY, *SETTINGS, *READING, *SECRETS)


def is_offsets(text: str) -> bool:
    """Whether a start is given by offsets: `0:100, 1:250`."""
    try:
        offsets_of(text)
    except ValueError:
        return False
    return True


def offsets_of(text: str) -> dict[int, int]:
    """The offset at which to start, by partition."""
    made: dict[int, int] = {}
    for part in text.split(","):
        partition, found, offset = (piece.strip() for piece in part.partition(":"))
        if not (found and partition.isdecimal() and offset.isdecimal()):
            raise ValueError(text)
        made[int(partition)] = int(offset)
    return made
