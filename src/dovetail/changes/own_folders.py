"""Which folders of files are an application's own: those that a version of it has named for a table.

Spark's list in a folder counts batches, and skips a number that it has. A table that continues in a folder of
its own application counts on from there. In a folder of another application, or of another home, its rows
would mix with theirs, or be skipped because of their numbers. Law: a version names no such folder."""

from __future__ import annotations

import os
from contextlib import suppress

from dovetail.changes.versions import read_version, version_numbers
from dovetail.errors import DovetailError
from dovetail.plan.application_file import read_current
from dovetail.plan.physical import FileSink, JoinStage, Plan, ScribeSource, SlicerStage, Stage
from dovetail.slicing.input_files import is_local, local_path

LISTED = "_spark_metadata"
HINT = "give the table another path, or remove the folder"


def output_folder(path: str) -> str:
    """The same place, whatever the working directory of those who write there."""
    return os.path.abspath(local_path(path)) if is_local(path) else path


def own_folders(home: str, application: str) -> set[str]:
    """As far as the files of its versions can be read."""
    plans: list[Plan] = []
    with suppress(DovetailError, FileNotFoundError):
        plans.append(read_current(home, application).plan)
    for number in version_numbers(home, application):
        with suppress(DovetailError):
            plans.append(read_version(home, application, number).plan)
    outputs = [stage.output for plan in plans for stage in plan.stages]
    return {output_folder(output.path) for output in outputs if isinstance(output, FileSink)}


def has_batches(folder: str) -> bool:
    """Whether somebody has written there as a table does. Elsewhere than on this machine Spark is asked, when
    the query takes over."""
    if not is_local(folder) or not os.path.isdir(listed := os.path.join(folder, LISTED)):
        return False
    return any(name.removesuffix(".compact").isdecimal() for name in os.listdir(listed))


def counts_on(stage: Stage) -> bool:
    """Whether a stage that has never run can go on with the numbers of batches that are in its output
    already: its record then says that it has read nothing, and only the log has a position for that."""
    if isinstance(stage, SlicerStage):
        return len(stage.inputs) == 1 and isinstance(stage.inputs[0].source, ScribeSource)
    return isinstance(stage, JoinStage)
