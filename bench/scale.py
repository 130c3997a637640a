"""Scale on paper: what clusters of 100 and 1,000 cores would hold, from costs measured on this machine.

The costs are in `bench/scale_costs.json`, with what is assumed about machines; `--measure` measures them
again. `--write` renews the tables of `docs/scale.md`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from bench.command import Command, finish, tell
from bench.scale_model import Costs, Machines, Model
from bench.scale_tables import document, show, tables
from bench.tables import renew_tables
from dovetail.errors import DovetailError, InputError

COSTS = Path(__file__).with_name("scale_costs.json")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "scale.md"
VERSION = 1


def read_model(path: Path = COSTS) -> Model:
    said = json.loads(path.read_text())
    if said.get("version") != VERSION:
        raise InputError(
            f"costs of version {said.get('version')}",
            where=str(path),
            expected=f"version {VERSION}",
            hint="dovetail bench scale --measure writes them again",
        )
    return Model(Costs(**said["measured"]), Machines(**said["assumed"]))


def write_model(model: Model, path: Path = COSTS) -> None:
    said = {"version": VERSION, "measured": asdict(model.costs), "assumed": asdict(model.machines)}
    path.write_text(json.dumps(said, indent=1) + "\n")


def main(argv: list[str]) -> int:
    made = Command("scale", __doc__)
    made.add_argument("--measure", action="store_true", help="measure the costs first: about five minutes")
    made.add_argument("--write", action="store_true", help="renew the tables of docs/scale.md")
    args = made.parse_args(argv)
    try:
        model = read_model()
        if args.measure:
            from bench.scale_measure import measured

            model = Model(measured(), model.machines)
            write_model(model)
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            tell(str(error))
        return 1
    if args.write:
        renew_tables(PAGE, tables(model))
    finish(args.json, document(model), lambda: show(model))
    return 0
