"""`STORAGE JDBC`: addresses of PostgreSQL as Java has them."""

from __future__ import annotations

from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from dovetail.connectors.kinds import open_sink
from dovetail.connectors.secret import Secret
from dovetail.connectors.sink import Writer
from dovetail.connectors.sinks.jdbc import connection
from dovetail.errors import DovetailError
from dovetail.pql.compile import compile_pql
from dovetail_dev.postgres_server import Postgres
from unit.connectors.places import PostgresPlace

ROWS = pa.table({"id": [1, 2], "name": ["a", "b"]})


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("jdbc:postgresql://db:5432/shop", "postgresql://db:5432/shop"),
        ("jdbc:postgresql:shop", "postgresql:///shop"),
        ("jdbc:postgresql://db/shop?ssl=true", "postgresql://db/shop?sslmode=verify-full"),
        ("jdbc:postgresql://db/shop?user=me&password=a b", "postgresql://db/shop?user=me&password=a%20b"),
    ],
)
def test_addresses(url: str, said: str) -> None:
    assert connection(url) == said


def test_user_and_password() -> None:
    made = connection("jdbc:postgresql://db/shop?user=other", "me", "a/b?&")
    assert made == "postgresql://db/shop?user=me&password=a%2Fb%3F%26"


def test_rows_come_out_in_postgresql(postgres: Postgres) -> None:
    place = PostgresPlace(postgres)
    options = {"url": f"jdbc:{postgres.uri}", "table": place.options["table"]}
    sink = open_sink("JDBC", options.items(), Writer("app", "pairs", "one"))
    sink.prepare(ROWS.schema)
    written = sink.output(ROWS.schema).write(ROWS.to_batches())
    for _ in range(2):
        sink.commit(0, [str(written)])
    assert place.rows().sort_by("id").to_pylist() == ROWS.to_pylist()


def test_a_password_is_hidden_also_as_the_address_has_it(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("pw", "very secret & more")
    port = urlsplit(postgres.uri).port
    options = {"url": f"jdbc:postgresql://127.0.0.1:{port}/none", "table": "t", "user": "nobody"}
    sink = open_sink("JDBC", [*options.items(), ("password", Secret("pw"))], Writer("app", "pairs", "one"))
    with pytest.raises(DovetailError) as refused:
        sink.check(ROWS.schema)
    assert "secret" not in str(refused.value)


def test_another_database_is_refused_with_ways_that_work() -> None:
    with pytest.raises(
        DovetailError, match="does not know how to write every row once to `jdbc:mysql`"
    ) as no:
        compile_pql(
            """CREATE APPLICATION a;
            CREATE INPUT TABLE l (t TIMESTAMP, k STRING) FROM SCRIBE("l");
            CREATE TABLE o AS SELECT k FROM l STORAGE JDBC(url = "jdbc:mysql://db/shop", table = "t");"""
        )
    assert "an Iceberg table" in str(no.value)
