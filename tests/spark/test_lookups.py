"""Rows looked up in tables of every kind, in every mode, while the tables change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from dovetail.log.category import Category
from dovetail.service.checkout import checkout_root
from dovetail.service.figures import RunFigures
from dovetail_dev.postgres_server import Postgres, postgres_server
from spark.application import Application
from spark.batch import Database, database, differences
from spark.events import START_US, events, write_files
from unit.connectors.places import PostgresPlace

ROWS, PARTS = 1500, 3
ORDERS = events(ROWS, 60, 91)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres_server() as running:
        yield running


def page(here: Path) -> str:
    """The query of the page about lookups."""
    whole = (checkout_root() / "docs/how-to/look-up-tables.md").read_text()
    text = whole.split("```sql\n")[1].split("```")[0]
    for place in ("orders", "prices", "shops", "cities.db", "priced"):
        text = text.replace(f'"{place}"', f'"{here}/{place}"')
    return text


def feed(here: Path, part: int) -> None:
    write_files(ORDERS.slice(part * ROWS // PARTS, ROWS // PARTS), here / "orders", 1, first=part)


def prices() -> pa.Table:
    rng = np.random.default_rng(5)
    since = pa.array(START_US + rng.permutation(3600)[:300] * 1_000_000).cast(pa.timestamp("us", "UTC"))
    return pa.table({"k": rng.integers(0, 50, 300), "price": rng.random(300), "since": since})


def tables(here: Path, place: PostgresPlace) -> Database:
    made = "SELECT i::bigint AS k, 'user ' || i AS name FROM generate_series(0, 55) t(i)"
    place.ask(f"CREATE TABLE users AS {made}")
    (here / "prices").mkdir()
    pq.write_table(prices(), here / "prices" / "all.parquet")
    shops = pa.table({"name": [f"user {i}" for i in range(40)], "shop": [f"shop {i % 7}" for i in range(40)]})
    write_deltalake(str(here / "shops"), shops)
    db = database(orders=ORDERS, prices=prices(), shops=shops)
    db.execute(f"ATTACH '{here}/cities.db' AS cities_db")
    made = "SELECT 'shop ' || i AS shop, 'city ' || i AS city FROM range(5) t(i)"
    db.execute(f"CREATE TABLE cities_db.cities AS {made}")
    db.execute("CREATE TABLE cities AS FROM cities_db.cities")
    db.execute("DETACH cities_db")
    db.execute("CREATE TABLE users AS SELECT i AS k, 'user ' || i AS name FROM range(56) t(i)")
    return db


EXPECTED = """
    SELECT o.id, u.name, p.price, s.shop, c.city
    FROM (SELECT o.* FROM orders o WHERE o.k IS NOT NULL) o JOIN users u ON o.k = u.k
    ASOF LEFT JOIN (FROM prices) p ON o.k = p.k AND o.eventtime >= p.since
    LEFT JOIN shops s ON s.name = u.name LEFT JOIN cities c ON c.shop = s.shop"""


def test_the_page_in_all_modes(
    application: Application, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three parts of the orders, each in another mode. Before the last one a user is renamed: what was looked
    up stays, and what comes then has the new name."""
    monkeypatch.setenv("THE_SERVER", server.uri)
    here, place = application.folder, PostgresPlace(server)
    db = tables(here, place)
    query = page(here)

    def live() -> Iterator[Callable[[RunFigures], bool]]:
        before = len(application.files("priced"))
        feed(here, 1)
        yield lambda now: len(application.files("priced")) > before

    feed(here, 0)
    application.run(query, "available-now")
    application.stream(query, live())
    place.ask("UPDATE users SET name = 'user 1' WHERE k = 2")
    feed(here, 2)
    application.run(query)
    found = pa.concat_tables([pq.read_table(file) for file in application.files("priced")])
    db.register("found", found)
    last = ROWS // PARTS * (PARTS - 1)
    before = f"{EXPECTED} WHERE o.id < {last}"
    db.execute("CREATE TABLE renamed AS SELECT k, if(k = 2, 'user 1', name) AS name FROM users")
    after = f"{EXPECTED.replace('users u', 'renamed u')} WHERE o.id >= {last}"
    shown = "SELECT id, name, price, shop, city FROM found"
    assert differences(db, shown, f"{before} UNION ALL {after}") == {}
    assert db.execute("SELECT count(DISTINCT price), count(DISTINCT city) FROM found").fetchall()[0] > (
        100,
        4,
    )
    looked_up = Category.open(application.home, "shop.priced_with_u")
    covers = [commit.covers or {} for commit in looked_up.commits(0, looked_up.next_commit())]
    versions = [one["looked_up"]["version"] for one in covers]
    assert len(set(versions)) == 2, "PostgreSQL's table has changed once"


def test_a_left_lookup_with_conditions_on_the_stream_equals_duckdb(application: Application) -> None:
    """Rows that fail them stay, and find nothing."""
    here = application.folder
    users = pa.table({"k": list(range(40)) * 2, "name": [f"user {n}" for n in range(80)]})
    write_deltalake(str(here / "users"), users)
    write_files(ORDERS, here / "orders", 2)
    condition = "o.k = u.k AND o.v > 300 AND o.id % 3 <> 1"
    application.run(
        f"""CREATE APPLICATION some;
        CREATE INPUT TABLE orders (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
            FROM FILES("{here}/orders", format = "parquet");
        CREATE LOOKUP TABLE users (k BIGINT, name STRING) FROM DELTA("{here}/users");
        CREATE TABLE named AS SELECT o.id, u.name FROM orders AS o LEFT JOIN TABLE users AS u ON {condition}
            STORAGE PARQUET(path = "{here}/named");"""
    )
    db = database(orders=ORDERS, users=users, named=application.files("named"))
    expected = f"SELECT o.id, u.name FROM orders o LEFT JOIN users u ON {condition}"
    assert differences(db, "SELECT id, name FROM named", expected) == {}
    assert 0 < db.execute("SELECT count(*) FROM named WHERE name IS NULL").fetchall()[0][0] < ROWS
