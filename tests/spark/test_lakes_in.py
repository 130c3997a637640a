"""Two tables of lakes as streams, joined: the query of the page, run again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake

from dovetail.errors import StateError
from dovetail.service.checkout import checkout_root
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events

ROWS, PARTS = 900, 3
LEFT, RIGHT = (events(ROWS, 60, seed, nulls=0).drop_columns(["v"]) for seed in (81, 82))


def query(here: Path) -> str:
    page = (checkout_root() / "docs/how-to/databases-and-lakes.md").read_text()
    inputs = next(block for block in page.split("```sql\n")[1:] if 'FROM DELTA("clicks")' in block)
    inputs = inputs.split("```")[0].replace("sqlite:///", f"sqlite:///{here}/")
    inputs = inputs.replace('DELTA("clicks")', f'DELTA("{here}/clicks")').replace('"lake"', f'"{here}/lake"')
    return f"""CREATE APPLICATION app; {inputs.replace('"latest"', '"earliest"')}
        CREATE TABLE pairs AS SELECT l.id AS l, r.id AS r FROM clicks AS l LEFT JOIN views AS r ON {ON}
        STORAGE SCRIBE (category = "pairs");"""


def feed(here: Path, part: int, into: str = "clicks") -> None:
    left, right = (table.slice(part * ROWS // PARTS, ROWS // PARTS) for table in (LEFT, RIGHT))
    write_deltalake(str(here / into), left, mode="append")
    views(here).append(right)


def views(here: Path) -> Any:
    from pyiceberg.catalog import load_catalog

    (here / "lake").mkdir(exist_ok=True)
    there = {"uri": f"sqlite:///{here}/catalog.db", "warehouse": f"file://{here}/lake"}
    catalog = load_catalog("dovetail", type="sql", **there)
    catalog.create_namespace_if_not_exists("web")
    return catalog.create_table_if_not_exists("web.views", RIGHT.schema)


def test_tables_of_lakes_are_streams(application: Application) -> None:
    """In the end one of them is swapped for another table, which goes on where the first was left."""
    here = application.folder
    feed(here, 0)
    application.run(query(here), "available-now")
    feed(here, 1)
    application.run(query(here), "available-now")
    feed(here, 2, into="others")
    swapped = query(here).replace(f'"{here}/clicks"', f'"{here}/others"')
    with pytest.raises(StateError) as refused:
        application.run(swapped)
    assert "start = " in str(refused.value.hint)
    application.run(swapped.replace('/others"', '/others", start = "earliest"'))
    db = database(l=LEFT, r=RIGHT, found=application.category("pairs"))
    assert differences(db, "SELECT l, r FROM found", join_sql("left", "l.id, r.id", ON)) == {}
