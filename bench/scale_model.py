"""What a cluster would hold, from costs that were measured on two cores. Arithmetic only.

A cluster has one task per core. Of each step, a core gives `worker_task_s` to starting and ending its task,
and the rest of its time to rows. The *coordinator* is the one driver: it plans a step and starts its tasks,
and a step cannot be shorter than that. The *log* takes each row once and gives it once. The *home* takes the
small files of each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

GB = 1_000_000_000
CLUSTERS = (2, 16, 100, 1_000)
STEPS_S = (1.0, 5.0, 30.0)


@dataclass(frozen=True)
class Costs:
    """What the benchmarks found. A row is an input row of either side. `coordinator_step_s` and
    `coordinator_task_s` are CPU seconds of the driver and its JVM for a step with few rows, without and per
    task; `worker_task_s` those of the Python workers per task."""

    row_cpu_s: float
    coordinator_step_s: float
    coordinator_task_s: float
    worker_task_s: float
    index_bytes_per_row: float
    log_bytes_per_row: float
    rebuild_rows_per_cpu_s: float


@dataclass(frozen=True)
class Machines:
    """What is assumed and not measured: the hosts, the home, and how many files a step writes. `busy`: the
    share of the cores that may be used in the long run; the rest catches up after a loss."""

    cores_per_host: int
    memory_bytes_per_host: int
    index_share_of_memory: float
    busy: float
    home_writes_per_s: float
    log_bytes_per_s_and_host: float
    files_per_task: int
    files_per_step: int


@dataclass(frozen=True)
class Held:
    """One cluster. `asked_s` is the length of steps that was asked for, `step_s` the one that the coordinator
    can give. The loads are shares of what a part can take, with steps as short as asked for and as many rows
    as the cores can join."""

    cores: int
    asked_s: float
    step_s: float
    rows_per_s: float
    window_rows: float
    log_bytes: float
    recovery_s: float
    coordinator_load: float
    home_load: float
    log_load: float

    @property
    def window_s(self) -> float:
        """The longest window whose rows fit into memory at that rate; both sides of it."""
        return self.window_rows / self.rows_per_s

    @property
    def hourly_rows_per_s(self) -> float:
        """The rate at which the rows of an hour fit into memory."""
        return min(self.rows_per_s, self.window_rows / 3600)

    @property
    def loads(self) -> dict[str, float]:
        return {"coordinator": self.coordinator_load, "home": self.home_load, "log": self.log_load}

    @property
    def first_to_break(self) -> str:
        """The part with the greatest load, if it is above what the part can take; else the cores set the
        rate."""
        name, load = max(self.loads.items(), key=lambda one: one[1])
        return name if load > 1 else "cores"


@dataclass(frozen=True)
class Model:
    costs: Costs
    machines: Machines

    def coordinator_s(self, tasks: int) -> float:
        """The least time between two steps."""
        return self.costs.coordinator_step_s + tasks * self.costs.coordinator_task_s

    def most_tasks(self, step_s: float) -> int:
        """How many tasks one coordinator can start within a step of this length."""
        return max(0, int((step_s - self.costs.coordinator_step_s) / self.costs.coordinator_task_s))

    def held(self, cores: int, asked_s: float) -> Held:
        costs, machines = self.costs, self.machines
        hosts = max(1.0, cores / machines.cores_per_host)
        step_s = max(asked_s, self.coordinator_s(cores))
        for_rows = max(0.0, machines.busy - costs.worker_task_s / step_s) * cores
        log_rows_per_s = hosts * machines.log_bytes_per_s_and_host / (2 * costs.log_bytes_per_row)
        core_rows_per_s = for_rows / costs.row_cpu_s
        memory = hosts * machines.memory_bytes_per_host * machines.index_share_of_memory
        window_rows = memory / costs.index_bytes_per_row
        files = cores * machines.files_per_task + machines.files_per_step
        return Held(
            cores=cores,
            asked_s=asked_s,
            step_s=step_s,
            rows_per_s=min(core_rows_per_s, log_rows_per_s),
            window_rows=window_rows,
            log_bytes=window_rows * costs.log_bytes_per_row,
            recovery_s=self._recovery_s(window_rows / cores, step_s),
            coordinator_load=self.coordinator_s(cores) / asked_s,
            home_load=files / asked_s / machines.home_writes_per_s,
            log_load=core_rows_per_s / log_rows_per_s,
        )

    def _recovery_s(self, rows_per_core: float, step_s: float) -> float:
        """A host is lost, and another one takes its tasks. Each of its cores rebuilds its part of the window;
        what comes meanwhile is caught up with on the spare share, while more comes."""
        rebuild_s = rows_per_core / self.costs.rebuild_rows_per_cpu_s
        return (step_s + rebuild_s) / (1 - self.machines.busy)

    def grid(self) -> Iterator[Held]:
        for cores in CLUSTERS:
            for asked_s in STEPS_S:
                yield self.held(cores, asked_s)
