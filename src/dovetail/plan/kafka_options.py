"""What may stand in `FROM KAFKA(...)`: the options of ours, and those that are passed on to the client.

A setting of the client has its own name with `_` in place of dots: `sasl_mechanism` is `sasl.mechanism`. Only
settings that say how brokers are reached and how much is fetched are passed on. What decides which records
come, and how often, is not for a setting to change."""

from __future__ import annotations

FORMATS = ("json", "csv", "raw")
TIMES = ("iso", "seconds", "milliseconds", "microseconds")
DATA_LOSS = ("stop", "continue")

FIELDS = {
    "key": ("STRING", "BINARY"),
    "headers": ("MAP<STRING, STRING>", "MAP<STRING, BINARY>"),
    "partition": ("INT", "BIGINT"),
    "offset": ("BIGINT",),
    "timestamp": ("TIMESTAMP",),
}
"""Parts of a record beside its value that can be columns, and the types of such a column."""

CHOICES = {"format": FORMATS, "times": TIMES, "on_data_loss": DATA_LOSS}
OWN = ("brokers", "format", "start", *FIELDS, "times", "sep", "max_records_per_second", "on_data_loss")
SECRETS = ("sasl_password", "ssl_key_password", "ssl_keystore_password", "ssl_key_pem")
"""Settings whose value may only be SECRET("name")."""
PASSED_ON = (
    "security_protocol",
    "sasl_mechanism",
    "sasl_username",
    "sasl_kerberos_service_name",
    "sasl_kerberos_principal",
    "sasl_kerberos_keytab",
    "ssl_ca_location",
    "ssl_ca_pem",
    "ssl_certificate_location",
    "ssl_certificate_pem",
    "ssl_key_location",
    "ssl_keystore_location",
    "ssl_cipher_suites",
    "ssl_endpoint_identification_algorithm",
    "enable_ssl_certificate_verification",
    "client_id",
    "client_rack",
    "client_dns_lookup",
    "broker_address_family",
    "socket_timeout_ms",
    "socket_keepalive_enable",
    "connections_max_idle_ms",
    "fetch_wait_max_ms",
    "fetch_min_bytes",
    "fetch_max_bytes",
    "fetch_message_max_bytes",
    "max_partition_fetch_bytes",
    "queued_max_messages_kbytes",
    "message_max_bytes",
    "linger_ms",
    "compression_type",
    "debug",
)
KNOWN = (*OWN, *PASSED_ON, *SECRETS)


def client_setting(option: str) -> str:
    """What the client calls it."""
    return option.replace("_", ".")


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
