"""Which worker of its workload each thread is, and in what role.

Takes a run's files; gives a name for each thread that is a worker, such as `message thread 0`: the role of
`roles` in the workload's YAML, or in its plan of threads, and the worker's number. A workload that is not
built in has workers only, because its YAML may be another one by now. Fails as the run's files do, but for
a console without a result: then no thread is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.workload.workloads import Workload
from benchgate.judge.accounts.threads.schedule import Schedule
from benchgate.judge.accounts.threads.worker_sleeps import threads_of
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog

WORKER = "worker"
_VALUE = "role"
"""The value by which a worker says which of `roles` it has."""


@dataclass(frozen=True, slots=True)
class ThreadRole:
    role: str
    worker: int

    @property
    def name(self) -> str:
        return f"{self.role} {self.worker}"


def thread_roles(files: RunFiles, schedule: Schedule) -> Mapping[int, ThreadRole]:
    try:
        said = files.transcript if files.run.clock_log and b"@bench " in files.console else None
    except VerifyError:  # it has no result
        said = None
    if said is None:
        return {}
    name = files.run.cell.workload
    workload = catalog.load_workload(name) if catalog.is_built_in_workload(name) else None
    workers = {report.id: report for report in said.reports}
    found = threads_of(schedule, files.clock_log, said.reports, said.hz)
    return {thread: ThreadRole(_role(workers[worker], workload), worker) for thread, worker in found.items()}


def _role(report: WorkerReport, workload: Workload | None) -> str:
    if workload is None:
        return WORKER
    plan = workload.threads
    roles, number = (plan.roles, report.id) if plan else (workload.roles, report.values.get(_VALUE, -1))
    return roles[number] if 0 <= number < len(roles) else WORKER
