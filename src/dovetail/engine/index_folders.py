"""Where a host keeps live indexes, whose they are, and which of them nobody comes back for.

    <root>/<digest of home and join>/home, state      whose it is
                                    /0-of-2, 1-of-2   the index of each bucket group (`live_index.py`)

Law: an index goes when its home does, or its join. It is memory that has a name: nothing else would ever free
it. One that goes too early costs a rebuild, and never a row.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path

import xxhash

from dovetail.engine.shared_memory import TMPFS
from dovetail.errors import DovetailError
from dovetail.log.homes.filesystem import open_store, shown

_ROOM_BYTES = 1 << 30


def index_root(chosen: str | None) -> Path:
    """The directory for indexes on this host: the run's setting, else `DOVETAIL_INDEX_DIR`, else a tmpfs with
    room, else the temporary directory."""
    chosen = chosen or os.environ.get("DOVETAIL_INDEX_DIR")
    if chosen:
        return Path(chosen)
    user = f"dovetail-{os.getuid()}"
    if TMPFS.is_dir() and os.access(TMPFS, os.W_OK) and shutil.disk_usage(TMPFS).free > _ROOM_BYTES:
        return TMPFS / user
    return Path(tempfile.gettempdir()) / user


def join_directory(root: Path, home: str, state_path: str) -> Path:
    """A digest of home and join names the directory, so that no two joins share one."""
    return root / xxhash.xxh3_64_hexdigest(f"{home}\n{state_path}".encode())


def group_directory(root: Path, home: str, state_path: str, task: int, tasks: int) -> Path:
    return join_directory(root, home, state_path) / f"{task}-of-{tasks}"


def place_of(root: Path) -> str:
    """What tells the indexes in a folder of this host from those of any other, for as long as they last."""
    return f"{socket.gethostname()} {boot_id()} {root}"


def claim_directory(group: Path, home: str, state_path: str) -> bool:
    """Write down which join the indexes in a folder are of, for `sweep`. Whether nobody had."""
    owner, state = group.parent / "home", group.parent / "state"
    if owner.exists() and state.exists():
        return False
    group.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(state_path)
    owner.write_text(shown(home))
    return True


def sweep(root: Path, home: str, keep: Path | None = None) -> None:
    """Remove the indexes of homes that no longer exist, and of joins that this home no longer has. `keep`:
    the directory of the join that asks, of which the home may not have anything yet."""
    joins: dict[str, list[str]] = {}
    for owner in root.glob("*/home"):
        if owner.parent != keep and _is_gone(owner, home, joins):
            shutil.rmtree(owner.parent, ignore_errors=True)


def _is_gone(owner: Path, home: str, joins: dict[str, list[str]]) -> bool:
    """`joins`: those of each application of the home that was looked at."""
    try:
        said = owner.read_text()
        if "://" not in said and not Path(said).exists():
            return True
        if said != shown(home):
            return False  # a run of that home looks after it
        application, _, join = (owner.parent / "state").read_text().rpartition("/")
        if application not in joins:
            joins[application] = open_store(home).folders(application)
        return join not in joins[application]
    except OSError:
        return False  # another one removes it, or an earlier release has not said whose state it is
    except ValueError:  # not a path: nobody will come back for it
        return True
    except DovetailError:  # the home cannot be asked now
        return False


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"
