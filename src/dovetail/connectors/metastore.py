"""Hive's metastore: the catalog that says which tables and partitions there are, and where their files lie.

The client is what Thrift generates, as pymetastore packs it. A connection is made for a few calls and closed
again: a batch needs it for milliseconds, and may come minutes after the last one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from dovetail.errors import PlaceError, PlanError, Unreachable

PATIENCE_S = 30
"""How long one call may take."""
_PORT = 9083
_SILENT = logging.NullHandler()
"""Thrift logs an unavailable server as an error, which Python would print beside our own error."""


@dataclass(frozen=True)
class Metastore:
    """`place`: the table that is asked about, for errors."""

    uri: str
    place: str

    @contextmanager
    def client(self) -> Iterator[Any]:
        """An open client. Its errors, and those of whatever is asked meanwhile, come out in our words."""
        from pymetastore.hive_metastore.ThriftHiveMetastore import Client
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.Thrift import TException
        from thrift.transport.TTransport import TTransportException

        try:
            transport = self._connected()
            try:
                yield Client(TBinaryProtocol(transport))
            finally:
                transport.close()
        except (TTransportException, OSError) as error:
            raise Unreachable(
                f"the metastore of {self.place} cannot be reached: {_text(error)}",
                where=self.uri,
                expected="a Hive metastore that speaks Thrift there",
            ) from None
        except TException as error:
            raise PlaceError(
                f"the metastore refuses to work on {self.place}: {type(error).__name__}: {_text(error)}",
                where=self.uri,
            ) from None

    def _connected(self) -> Any:
        from thrift.transport.TSocket import TSocket
        from thrift.transport.TTransport import TBufferedTransport, TTransportException

        logging.getLogger("thrift").addHandler(_SILENT)
        addresses = addresses_of(self.uri)
        for number, address in enumerate(addresses, 1):
            socket = TSocket(address.hostname, address.port or _PORT)
            socket.setTimeout(PATIENCE_S * 1000)
            transport = TBufferedTransport(socket)
            try:
                transport.open()
            except TTransportException:
                if number == len(addresses):
                    raise
            else:
                return transport
        raise AssertionError("unreachable")


def addresses_of(uri: str) -> list[SplitResult]:
    """One or several metastores, as hive.metastore.uris names them."""
    try:
        found = [urlsplit(one.strip()) for one in uri.split(",")]
        sound = all(one.scheme == "thrift" and one.hostname and (one.port or _PORT) for one in found)
    except ValueError:  # a port that is none
        sound = False
    if not sound:
        raise PlanError(f"`{uri}` names no metastore", expected='uri = "thrift://host:9083"')
    return found


def _text(error: BaseException) -> str:
    return " ".join(str(getattr(error, "message", None) or error).split())[:300]
