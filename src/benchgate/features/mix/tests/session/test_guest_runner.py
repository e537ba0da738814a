from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchgate.base.system.machines import Machine
from benchgate.features.mix import study_orders
from benchgate.features.mix.guest.mix_runs import Mix, MixRun, PartLimits, PartRun
from benchgate.features.mix.session import guest_runner
from benchgate.features.mix.session.booter import MixAttempt
from benchgate.features.mix.session.measure import MixAttemptJob, MixJob
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.vectors import Amount
from benchgate.plan import catalog
from benchgate.run.parallel import AttemptJob


def machine() -> Machine:
    result = catalog.memory_machine("desktop8")
    assert result is not None
    return result


USE = {"cpu_ns": 5, "memory_bytes": 6, "disk_read_bytes": 1, "disk_written_bytes": 2, "network_bytes": None}
RUN = MixRun(
    window_ns=1_000_000,
    cpus=2,
    parts=(
        PartRun("a.b#1", Fraction(7, 2), 3, USE),
        PartRun("dummy#1", Fraction(0), 0, {}),
    ),
    foreign_ns=0,
    memory_bytes=1000,
    use={"cache_bytes": 640, "moved_bytes": 640},
    missing={"network_bytes": "there is no veth"},
)


def test_a_run_in_the_units_of_a_study() -> None:
    measurement = guest_runner.measured(RUN, machine(), mixsim.study())
    (part,) = measurement.parts
    assert (part.name, part.score, part.runs) == ("a.b#1", Fraction(7, 2), 3)
    assert part.use == {"cpu": 5, "memory": 6, "disk": 3, "network": None}
    assert measurement.use == {"cache": 640, "bandwidth": 640}
    # Two CPUs of one cluster have 8 MiB of L3; one node moves 46.9 bytes per ns.
    assert measurement.capacity == {
        "cpu": 2_000_000,
        "memory": 1000,
        "cache": 8 << 20,
        "bandwidth": 46_900_000,
    }
    assert measurement.missing == {"network": "there is no veth"}


def test_on_wall_time_the_host_says_what_it_has_of_a_cache() -> None:
    measurement = guest_runner.measured(replace(RUN, cache_bytes=32 << 20), None, mixsim.study())
    assert (measurement.capacity["cache"], measurement.capacity["bandwidth"]) == (32 << 20, None)
    assert measurement.use == {"cache": 640, "bandwidth": 640}
    assert measurement.missing == {"network": "there is no veth"}
    unread = replace(RUN, use=dict.fromkeys(RUN.use), missing={})
    assert guest_runner.measured(unread, None, mixsim.study()).missing == dict.fromkeys(
        ("cache", "bandwidth"), guest_runner.NO_MACHINE
    )


def test_a_score_in_units_of_work() -> None:
    study = mixsim.study(mixsim.STUDY.replace("hi: 20000}", "hi: 20000, units: 2.5}"))
    run = replace(RUN, parts=(PartRun("prime.small#2", Fraction(4), 3, USE),))
    assert guest_runner.measured(run, None, study).parts[0].score == 10


class Booter:
    """Gives the name of a mix's first part instead of booting it."""

    def __init__(self, executed: Callable[[Iterable[AttemptJob], int], Iterator[tuple[int, object]]]) -> None:
        self.runner = SimpleNamespace(execute_all=executed)

    def at_once(self, mix: Mix) -> int:
        return 1 + mix.cpus

    def request(self, mix: Mix, folder: Path, *, seed: int) -> str:
        return f"{mix.parts[0].name} {folder} {seed}"

    def judged(self, raw: str, mix: Mix) -> MixAttempt:
        assert raw.startswith(mix.parts[0].name)
        return MixAttempt(None, None, f"no result of {raw}")  # type: ignore[arg-type]


def three_jobs() -> list[MixJob]:
    """The system cannot run the last one."""
    usual = mixsim.study()
    study = replace(usual, inputs=(replace(usual.inputs[0], workload="files", params=()), *usual.inputs[1:]))
    refused, *others = [MixJob(order, study) for order in study_orders.alone(study) if order.seed == 1]
    return [*others[:2], refused]


def answered(has_a_result: Callable[[int], bool]) -> dict[str, str]:
    """The answer of each attempt, by its folder. All begin before one ends."""

    def executed(jobs: Iterable[AttemptJob], at_once: int) -> Iterator[tuple[int, object]]:
        assert at_once == 3
        yield from [(n, job.request) for n, job in enumerate(jobs) if has_a_result(n)]

    first, second, refused = three_jobs()
    jobs = [first, refused, second, first, refused]
    asked = [MixAttemptJob(job, Path(f"at{n}")) for n, job in enumerate(jobs)]
    runner = guest_runner.GuestRunner(Booter(executed), catalog.load_system("kernel"), None, 2)  # type: ignore[arg-type]
    return {str(attempt.folder): str(reason) for attempt, reason in runner.run_all(asked)}


def test_each_attempt_has_its_own_answer_also_if_others_have_none() -> None:
    first, second, _ = (job.order.parts[0].name for job in three_jobs())
    whole = answered(lambda _: True)
    own = {"at0": f"{first} at0 1", "at2": f"{second} at2 1", "at3": f"{first} at3 1"}
    assert {place: whole[place] for place in own} == {p: f"no result of {name}" for p, name in own.items()}
    for place in ("at1", "at4"):
        assert re.search(
            "^study.yaml:11: part prime.small#1: files needs files, disk, .*kernel", whole[place]
        )
    interrupted = answered(lambda n: n != 1)
    assert interrupted == {place: answer for place, answer in whole.items() if place != "at2"}


def test_a_machine_with_memory_takes_room_on_the_host() -> None:
    seen: list[Mix] = []

    class Watching(Booter):
        def at_once(self, mix: Mix) -> int:
            seen.append(mix)
            return 1

    nothing = Watching(lambda *_: (_ for _ in ()))
    runner = guest_runner.GuestRunner(nothing, catalog.load_system("linux"), machine(), 4)  # type: ignore[arg-type]
    assert [*runner.run_all([])] == []
    assert [(mix.system.machine, mix.cpus) for mix in seen] == [(machine(), 4)]


def test_a_reason_has_the_file_and_line_of_its_input() -> None:
    study = mixsim.study()
    early = "part writer.large#2: it ended early: run 3 ended with status 1; it printed nothing"
    assert guest_runner.with_place(early, study) == f"{study.input_named('writer.large').where}: {early}"
    assert guest_runner.with_place("the run did not finish", study) == "the run did not finish"


def test_both_clusters_have_a_cache() -> None:
    assert (
        guest_runner.measured(replace(RUN, cpus=8), machine(), mixsim.study()).capacity["cache"] == 16 << 20
    )


def test_without_a_machine_cache_and_bandwidth_say_why() -> None:
    measurement = guest_runner.measured(replace(RUN, use={}), None, mixsim.study())
    assert measurement.used("cache") is None
    assert measurement.missing["cache"] == measurement.missing["bandwidth"] == guest_runner.NO_MACHINE


def test_fewer_ways_are_a_smaller_cache_of_as_many_sets() -> None:
    whole = machine()
    less = guest_runner.limited_machine(whole, Amount("cache", 4, Fraction(1, 4)))
    assert less.l3 is not None
    assert whole.l3 is not None
    assert (less.l3.size, less.l3.ways) == (2 << 20, 4)
    assert less.l3.sets(64) == whole.l3.sets(64)
    slow = guest_runner.limited_machine(whole, Amount("bandwidth", 250_000, Fraction(1, 2)))
    assert slow.bandwidth_gb_s == pytest.approx(46.9 / 4)
    assert guest_runner.limited_machine(whole, Amount("cpu", 1, Fraction(1))) == whole


def test_a_job_as_a_mix() -> None:
    study = mixsim.study()
    order = next(study_orders.limited(study))
    mix = guest_runner.mix_of(
        MixJob(order, study, Amount("cpu", 250_000, Fraction(1, 2))), catalog.load_system("linux")
    )
    part, dummy = mix.parts
    assert (part.name, part.workers, part.limits) == ("prime.large#1", 2, PartLimits(cpu_ppm=250_000))
    assert part.workload is not None
    assert part.workload.name == "primes"
    assert dict(part.params)["hi"] == 20000
    assert (dummy.name, dummy.workload, dummy.limits) == ("dummy#1", None, PartLimits())
    assert (mix.cpus, mix.least, mix.limit_ms) == (2, 1 + 3, 10_000)  # the first run of a part is cold


@pytest.mark.parametrize(
    ("resource", "limits"),
    [
        ("cpu", PartLimits(cpu_ppm=600)),
        ("memory", PartLimits(memory_bytes=600)),
        ("disk", PartLimits(disk_bytes_per_s=300)),
        ("network", PartLimits(network_bytes_per_s=300)),
    ],
)
def test_limits_in_their_units(resource: str, limits: PartLimits) -> None:
    """Each direction of a disk or network has its limit, and a part's use is the sum of both."""
    assert guest_runner.limits_of(Amount(resource, 600, Fraction(1, 2))) == limits


def test_a_cache_limits_no_part() -> None:
    assert guest_runner.limits_of(Amount("cache", 5, Fraction(1, 2))) == PartLimits()
