"""`python -m faults.fuzzer SEED FIRST COUNT [KIND...]`: damage one file at a time, and say what came of it.

It says which mutant it tries before it tries it, as JSON lines: so whoever started it knows which one made it
crash or hang. Mutant `n` of a seed is the same in every run.

A mutant must lead to the same answers, or to a documented error that names the file. One that was made to
look right (its checksum fits) may also lead to other answers: it is what it says.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from dovetail.engine.copying import settle
from dovetail.errors import CorruptFile, DovetailError, LogTruncated, StateError, UnknownVersion
from faults.formats import FORMATS, Format
from faults.mutants import DAMAGES, exchanged
from faults.specimen import Specimen, build, forget

DOCUMENTED = (CorruptFile, UnknownVersion, StateError, LogTruncated)
MOST_BYTES = 16 << 30
SPECIMENS = 3


class Wrong(Exception):
    """An answer that is not the one without damage."""


def say(**said: Any) -> None:
    print(json.dumps(said), flush=True)


def restored(made: Specimen) -> None:
    """The specimen as it was built. Files that are replaced as a whole need no copy, only a name."""
    settle()  # a copy still under way would make its folder again
    shutil.rmtree(made.home, ignore_errors=True)
    shutil.rmtree(made.index, ignore_errors=True)
    shutil.copytree(made.root / "kept/home", made.home, copy_function=os.link)
    shutil.copytree(made.root / "kept/index", made.index)
    forget()


def kept(root: Path, seed: int) -> tuple[Specimen, dict[str, Any]]:
    """A specimen, a copy of its files, and what each kind of use answers."""
    made = build(root, seed)
    (root / "kept").mkdir()
    made.home.rename(root / "kept/home")
    made.index.rename(root / "kept/index")
    answers = {}
    for kind, form in FORMATS.items():
        restored(made)
        answers[kind] = form.use(made)
    return made, answers


def damaged(made: Specimen, form: Format, rng: random.Random) -> tuple[Path, str]:
    """Damage one file; says which and how."""
    files = sorted(path for pattern in form.files for path in made.root.glob(pattern))
    path = rng.choice(files)
    other = rng.choice([file for file in files if file.parent == path.parent or form.partners == "all"])
    data = path.read_bytes()
    path.unlink()
    if form.repair is not None and rng.random() < 0.5:
        path.write_bytes(data)
        for linked in made.home.glob("log/*/commits/*.json"):  # a repair may write into them
            if linked != path:
                content = linked.read_bytes()
                linked.unlink()
                linked.write_bytes(content)
        form.repair(made, path, rng)
        return path, "repaired"
    damage = rng.choice([one for one in DAMAGES if one != exchanged or form.partners != "none"])
    again = other.read_bytes() if other != path else data
    path.write_bytes(damage(data, again, rng))
    return path, damage.__name__


def tried(made: Specimen, answers: dict[str, Any], kind: str, rng: random.Random) -> tuple[str, str]:
    """How a file was damaged, and the outcome; raises what is none."""
    form = FORMATS[kind]
    restored(made)
    path, how = damaged(made, form, rng)
    place = str(path.relative_to(made.root))
    try:
        same = form.use(made) == answers[kind]
    except DOCUMENTED as error:
        if form.repaired and how != "repaired":
            raise Wrong(f"{place} ({how}) was to be repaired: {error}") from error
        where = error.where or ""
        if not where or not (how == "repaired" or kind == "offset" or path.name in where):
            raise Wrong(f"{place} ({how}): the error does not name the file: {error}") from error
        return how, type(error).__name__
    except Exception as error:
        raise Wrong(f"{place} ({how}): {type(error).__name__}") from error
    if not same and how != "repaired":
        raise Wrong(f"{place} ({how}): another answer")
    return how, "same" if same else "another value"


def main(seed: int, first: int, count: int, kinds: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    made: dict[int, tuple[Specimen, dict[str, Any]]] = {}
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder, prefix="dovetail-fuzz-") as root:
        say(ready=True)
        for n in range(first, first + count):
            kind = kinds[n % len(kinds)]
            rng = random.Random(f"{seed}:{kind}:{n}")
            number = n // len(kinds) % SPECIMENS
            say(trying=n, kind=kind)
            if number not in made:
                made[number] = kept(Path(root, str(number)), number)
            began = time.monotonic()
            try:
                how, outcome = tried(*made[number], kind, rng)
                say(tried=n, kind=kind, how=how, outcome=outcome, seconds=time.monotonic() - began)
            except Wrong as wrong:
                cause = wrong.__cause__
                trace = "" if cause is None or isinstance(cause, DovetailError) else _traceback(cause)
                say(tried=n, kind=kind, outcome="WRONG", why=f"{wrong}\n{trace}")


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-6:])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] or list(FORMATS))
