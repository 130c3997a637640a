"""Few files, however long a category runs: old commits go into bundles, their small files into packs.

    commits/         ... 64 files                  64 bundles of 64
    segments/        ... 64 small files     ──►    and their packs     ──►   one bundle of 4,096, larger packs
    rejected/

Law: compaction changes where bytes are and nothing else. Every commit keeps its number, row numbers, sketches
and checksums; a reader that is in the middle finds each file at its old place or, if that is gone, at the new
one (`history.moved`).

Why a crash loses nothing. The order is: packs, then the bundle that names them, then `first.json`, then the
deletion of what is now there twice. Before `first.json` moves, readers use the commits' own files, and a pack
or bundle that is there too early is only waiting. After it has moved, the bundle counts, and files left over
are deleted by the next run, which finds them by listing. A bundle found where one is about to be written is
taken as it is: it says the same.

The ranges are fixed (multiples of the span), so two processes that compact at once, on a store that has no
locks, make bundles of the same commits. The newest commits are left alone: writers look for them by name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from dovetail.errors import CorruptFile, DovetailError
from dovetail.log import bundle as bundle_format
from dovetail.log import checkpoints, history
from dovetail.log import commit as commit_format
from dovetail.log.bundle import ALIGNED_BYTES, FOLDER, PACKS, Bundle, Bundled, CommitSpan
from dovetail.log.commit import Commit, PackPlace, PlacedSegment, RejectedRows
from dovetail.log.history import LogBounds
from dovetail.log.homes.filesystem import Output

if TYPE_CHECKING:
    from dovetail.log.category import Category


@dataclass(frozen=True)
class FileShape:
    """How files are put together, and how much of it one call does."""

    span: int = 64  # commits of a bundle
    fan: int = 64  # bundles of a wide one
    recent: int = 64  # newest commits that stay files of their own, at least
    bundles_at_once: int = 4  # more than a span of appends adds, so a backlog shrinks
    small_bytes: int = 1 << 20  # larger segments stay files of their own: mapping them is as cheap
    pack_bytes: int = 64 << 20
    small_pack_bytes: int = 4 << 20  # larger packs are not copied a second time
    wide_bytes: int = 256 << 20  # bundles with more than this stay narrow: retention frees whole packs


SHAPE = FileShape()


def compact(category: Category, known: LogBounds) -> LogBounds:
    """Do some of the work that is due, with retention locked. Returns the bounds as they are now."""
    shape = SHAPE
    end, width = category.next_commit(), shape.span * shape.fan
    if known.bundled % width < shape.span * shape.bundles_at_once:
        _widen(category, known, shape)  # what a run that died at the end of the range has left to do
    for _ in range(shape.bundles_at_once):
        start = max(known)
        stop = (start // shape.span + 1) * shape.span
        if stop + shape.recent > end:
            break
        _make_folders(category)
        _bundle(category, CommitSpan(start, stop), shape)
        known = LogBounds(known.first, stop)
        history.record_bounds(category, known)
        delete_bundled_files(category, range(start, stop))
        if stop % width == 0:
            _widen(category, known, shape)
            break
    checkpoints.make(category, known, shape.span, shape.fan)
    return known


def delete_bundled_files(category: Category, numbers: Iterable[int]) -> None:
    """Delete the files of commits that are in bundles, each after the small files it names."""
    store = category.store
    for number in numbers:
        bundle = history.bundle_of(category, number)
        if bundle is None:
            continue  # somebody has deleted it: what is left of its commits is not for us to delete
        for one in bundle.commit(number, category.id).files:
            if one.place is not None:
                store.delete(f"{category.folder}/{one.own_path}")
        store.delete(history.commit_path(category, number))


def delete_covered(category: Category, spans: Sequence[CommitSpan]) -> list[CommitSpan]:
    """Delete bundles whose commits are all in a wider one. Returns those that stay."""
    kept: list[CommitSpan] = []
    wider: CommitSpan | None = None  # the one that reaches furthest so far
    for span in spans:  # by where they begin, wider ones first
        if wider is None or not wider.covers(span):
            kept.append(span)
            wider = span if wider is None or span.stop > wider.stop else wider
            continue
        with suppress(FileNotFoundError):
            named = set(history.opened(category, wider).packs)
            delete_bundle(category, span, kept_packs=named)
    return kept


def delete_bundle(category: Category, span: CommitSpan, kept_packs: Iterable[str] = ()) -> None:
    """Its packs first: until its own file is gone, the next run still finds what it names."""
    try:
        packs = set(history.opened(category, span).packs)
    except (FileNotFoundError, DovetailError):
        packs = set()  # unreadable: what it named is orphaned, and goes with the orphans
    for pack in sorted(packs - set(kept_packs)):
        category.store.delete(bundle_format.pack_path(category, pack))
    category.store.delete(bundle_format.path_of(category, span))
    history.forget_bundles(category, [span])


def _make_folders(category: Category) -> None:
    """Categories of older releases have none of these."""
    for folder in (FOLDER, PACKS):
        category.store.make_folder(f"{category.folder}/{folder}")


def _bundle(category: Category, span: CommitSpan, shape: FileShape) -> None:
    if _is_there(category, span):
        return  # a run that died before it could say so
    packer = _Packs(category, shape)
    placed = [(commit, packer.places(commit)) for commit in category.commits(*span)]
    packer.finish()
    _write(category, span, [_bundled(commit, places, category.id) for commit, places in placed])


def _bundled(commit: Commit, places: tuple[PackPlace | None, ...], category_id: str) -> Bundled:
    named = {info.packing.dictionary for info in commit.segments if info.packing}
    dictionaries = frozenset(id_ for id_ in named if id_ is not None)
    line = commit_format.encode(commit, category_id)
    return Bundled(line, commit.stored_bytes, places, dictionaries)


def _widen(category: Category, known: LogBounds, shape: FileShape) -> None:
    """Put the bundles of one range into a wider one, if they are all there and not too large."""
    width = shape.span * shape.fan
    spans = delete_covered(category, bundle_format.listed(category))
    end = known.bundled // width * width
    parts = [span for span in spans if end - width <= span.first and span.stop <= end]
    if len(parts) < 2 or parts[-1].stop != end or any(a.stop != b.first for a, b in pairwise(parts)):
        return
    bundles = [history.opened(category, span) for span in parts]
    if sum(sum(bundle.sizes) for bundle in bundles) > shape.wide_bytes:
        return
    wide = CommitSpan(parts[0].first, end)
    if not _is_there(category, wide):
        packer = _Packs(category, shape)
        moved = [one for bundle in bundles for one in packer.repacked(bundle)]
        packer.finish()
        _write(category, wide, moved)
    delete_covered(category, bundle_format.listed(category))


def _is_there(category: Category, span: CommitSpan) -> bool:
    """Whether there is a bundle of this name. One that cannot be read is deleted, to be written again: what
    it holds is also still where it was before."""
    try:
        return bundle_format.read(category, span) is not None
    except FileNotFoundError:
        return False
    except CorruptFile:
        category.store.delete(bundle_format.path_of(category, span))
        return False


def _write(category: Category, span: CommitSpan, commits: Sequence[Bundled]) -> None:
    """Unless another process was faster: its bundle names other packs, and is as good."""
    category.store.create(
        bundle_format.path_of(category, span), bundle_format.encode(category.id, span, commits)
    )
    history.forget_bundles(category, [span])


class _Packs:
    """Packs being filled, one after another. A pack's name is known before its content, so that places can
    be given out first; nothing names the pack before `finish`."""

    def __init__(self, category: Category, shape: FileShape) -> None:
        self._category = category
        self._shape = shape
        self._parts: list[pa.Buffer] = []
        self._size = 0
        self._name = _new_name()

    def places(self, commit: Commit) -> tuple[PackPlace | None, ...]:
        """Where the commit's files go; None for those that stay."""
        return tuple(
            one.place or (self._put(self._small(one)) if one.bytes < self._shape.small_bytes else None)
            for one in commit.files
        )

    def _small(self, one: PlacedSegment | RejectedRows) -> pa.Buffer:
        """The bytes of a small file. One that is not whole stops compaction here: another process may have
        moved it a moment ago, and a bundle that says otherwise would lose it."""
        path = f"{self._category.folder}/{one.path}"
        with suppress(FileNotFoundError):
            data = self._category.store.buffer(path)
            if data.size == one.bytes:
                return data
        raise CorruptFile(
            "cannot compact: a file is missing or cut short",
            where=f"{self._category.store.root}/{path}",
            expected=f"{one.bytes} bytes",
            hint="restore it from a copy",
        )

    def repacked(self, bundle: Bundle) -> Iterator[Bundled]:
        """The bundle's commits, with its small packs put into larger ones."""
        begins: dict[str, PackPlace] = {}
        for name in bundle.packs:
            path = bundle_format.pack_path(self._category, name)
            size = self._category.store.size(path)
            if size is not None and size <= self._shape.small_pack_bytes:
                begins[name] = self._put(self._category.store.buffer(path))
        for one in bundle.bundled():
            places = tuple(
                PackPlace(begins[place.pack].pack, begins[place.pack].at + place.at)
                if place and place.pack in begins
                else place
                for place in one.places
            )
            yield one._replace(places=places)

    def finish(self) -> None:
        if self._parts:
            parts = self._parts
            path = bundle_format.pack_path(self._category, self._name)
            self._category.store.write(path, lambda output: _fill(output, parts))
        self._parts, self._size, self._name = [], 0, _new_name()

    def _put(self, data: pa.Buffer) -> PackPlace:
        if self._parts and self._size + data.size > self._shape.pack_bytes:
            self.finish()
        place = PackPlace(self._name, self._size)
        self._parts.append(data)
        self._size += _aligned(data.size)
        return place


def _new_name() -> str:
    return f"{uuid.uuid4().hex}.pack"


def _aligned(size: int) -> int:
    return -(-size // ALIGNED_BYTES) * ALIGNED_BYTES


def _fill(output: Output, parts: Sequence[pa.Buffer]) -> None:
    for part in parts:
        output.write(part)
        output.write(bytes(_aligned(part.size) - part.size))
