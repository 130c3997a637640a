"""Parquet files of a folder: sliced by row groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from dovetail.slicing.direct import DirectSlice
from dovetail.slicing.file_form import FilePiece
from dovetail.slicing.parquet_files import check_files, row_groups
from dovetail.slicing.sides import Written


class ParquetForm:
    """`names`: the columns that every file must have."""

    def __init__(self, slice_: DirectSlice, names: Sequence[str]) -> None:
        self._slice, self._names = slice_, names
        self._schema: pa.Schema | None = None

    def pieces(self, files: Sequence[str]) -> list[FilePiece]:
        for file in files:
            known = self._schema
            self._schema = check_files([file], self._names, known, grows=True)
            if self._schema != known:
                self._slice.require(self._schema, file)
        return row_groups(files)

    def write(self, pieces: Iterable[FilePiece]) -> Written:
        return self._slice.write(pieces)

    def settle(self, batch: int) -> list[Written]:
        return []
