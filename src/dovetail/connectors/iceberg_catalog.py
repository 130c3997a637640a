"""An Iceberg catalog: the options that name one, how it is opened, and its errors as Dovetail errors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dovetail.connectors.extras import need
from dovetail.connectors.options import Option
from dovetail.connectors.remote_files import is_away
from dovetail.connectors.secret import Revealed
from dovetail.errors import DovetailError, InputError, PlaceError, PlanError, Unreachable

_FROM_ENVIRONMENT = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}
"""What everybody else on S3 takes from there."""

MERGED = "dovetail.merged"
"""A property of snapshots that put rows into fewer files. pyiceberg cannot call them `replace`, as it should:
to others they are an `overwrite`."""

CATALOG = (
    Option("table", "text", "The table, with its namespace: `sales.clicks`.", required=True),
    Option(
        "uri",
        "text",
        "The catalog: `sqlite:///catalog.db`, `http://host:8181` or `thrift://host:9083`.",
        required=True,
        secret=True,
    ),
    Option(
        "catalog", "choice", "The catalog's kind.", default="sql", choices=("sql", "rest", "hive", "glue")
    ),
    Option(
        "catalog_name",
        "text",
        "The catalog's name: one SQL database may hold several catalogs.",
        default="dovetail",
    ),
    Option("warehouse", "text", "Where the catalog puts new tables."),
    Option("token", "secret", "Token for a REST catalog.", secret=True),
)


def require_namespace(options: Mapping[str, Any]) -> None:
    if not all(options["table"].split(".")) or "." not in options["table"]:
        raise PlanError(f"`{options['table']}` names no namespace", expected='table = "namespace.table"')


def need_libraries(values: Mapping[str, Any], by: str) -> None:
    need("iceberg", "pyiceberg.catalog", by=by)
    if values["catalog"] == "hive":
        need("hive", "thrift.transport.TSocket", by=f'{by} with catalog = "hive"')


def catalog_settings(values: Mapping[str, Any]) -> dict[str, str]:
    """As pyiceberg calls them."""
    settings = {
        "name": values["catalog_name"],
        "type": values["catalog"],
        "uri": values["uri"],
        "token": values["token"],
    }
    settings |= {name: os.environ.get(variable) for name, variable in _FROM_ENVIRONMENT.items()}
    if values["warehouse"] is not None:
        place = values["warehouse"]
        settings["warehouse"] = place if "://" in place else f"file://{os.path.abspath(place)}"
    return {name: value for name, value in settings.items() if value is not None}


def load(settings: Mapping[str, str]) -> Any:
    from pyiceberg.catalog import load_catalog

    return load_catalog(**settings)


def load_table(settings: Mapping[str, str], name: str) -> Any:
    """A table that is to be read."""
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        return load(settings).load_table(name)
    except (NoSuchTableError, NoSuchNamespaceError):
        raise InputError(
            "there is no Iceberg table", where=f"Iceberg table {name}", expected="a table of the catalog"
        ) from None


@contextmanager
def iceberg_words(place: str, given: Revealed) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyiceberg's own, about names that it will change
            yield
    except DovetailError:
        raise
    except Exception as error:  # of pyiceberg, and of whatever its catalog is made of
        text = f"{type(error).__name__}: {' '.join(given.hide(error).split())[:300]}"
        if _is_away(error):
            raise Unreachable(
                f"the catalog or files of {place} cannot be reached: {text}", where=place
            ) from None
        raise PlaceError(f"{place} cannot be used: {text}", where=place) from None


def _is_away(error: BaseException | None) -> bool:
    """A server that does not answer, somewhere among the causes."""
    while error is not None:
        name = type(error).__name__
        if isinstance(error, ConnectionError | TimeoutError) or is_away(error):
            return True
        if name in (
            "ServerError",
            "ServiceUnavailableError",
            "TTransportException",
            "CommitStateUnknownException",
        ):
            return True
        if name in ("ConnectionError", "ConnectTimeout", "ReadTimeout") or (
            name == "OperationalError" and "locked" in str(error)
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
