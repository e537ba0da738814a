"""Mixes: what they may be, and that their digest is of all that is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.features.mix.guest.mix_runs import Mix, Part, PartLimits
from benchgate.features.mix.tests.mixkit import changed, linux, part, rascal, two_parts
from benchgate.plan import catalog


def test_names_are_unique() -> None:
    with pytest.raises(ValueError, match="part a: two parts have this name"):
        Mix(linux(), 2, (part("a"), part("a")))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Part("a b", None), "part a b: its name must be letters"),
        (replace(part("a"), cpus=(0, 2)), "part a: its CPUs 0,2 are not different ones of 0 to 1"),
        (replace(part("a"), cpus=(1, 1)), "part a: its CPUs 1,1 are not different ones"),
        (replace(part("a"), workers=0), "part a: it has 1 to 64 workers, not 0"),
        (replace(part("a"), limits=PartLimits(memory_bytes=0)), "part a: a limit must be at least 1"),
        (replace(part("a"), score="speed"), "part a: rascal declares no metric speed; it has none"),
    ],
)
def test_a_part_that_no_guest_can_run(wrong: Part, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        Mix(linux(), 2, (wrong,))


def test_a_service_that_the_system_lacks() -> None:
    system = replace(linux(), services={})
    files = catalog.load_workload("files")
    with pytest.raises(ValueError, match="part files#1: files needs files, disk, which linux does not have"):
        Mix(system, 2, (Part("files#1", files),))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (part("a", cpus=(0,)), "part a: kernel cannot bind a part to CPUs"),
        (part("a", limits=PartLimits(memory_bytes=5)), "part a: kernel has no limit of memory_bytes"),
        (
            replace(part("a"), workload=replace(rascal(), name="mix")),
            "part a: its workload has the name of the",
        ),
        (
            replace(part("a"), workload=replace(rascal(), file=Path("other"))),
            "part b: two workloads of one name",
        ),
    ],
)
def test_what_a_conductor_of_a_kernels_own_cannot_do(wrong: Part, why: str) -> None:
    """It runs the same part without this, and limits CPU time."""
    kernel = catalog.load_system("kernel")
    Mix(kernel, 2, (part("a", limits=PartLimits(cpu_ppm=5)), part("b")))
    with pytest.raises(ValueError, match=why.split(": ", 1)[1]):
        Mix(kernel, 2, (wrong, part("b")))


def test_a_kernel_with_a_conductor_of_its_own_starts_mixes_cold() -> None:
    kernel = catalog.load_system("kernel:start=warm")
    with pytest.raises(ValueError, match=r"kernel\.start-warm runs mixes from a cold start only: leave out"):
        Mix(kernel, 2, (part("a"),))


def test_a_system_that_runs_no_mixes() -> None:
    system = replace(catalog.load_system("kernel"), build=None)
    with pytest.raises(ValueError, match="part a: kernel runs no mixes: neither `initrd: workload` nor"):
        Mix(system, 2, (part("a"),))


def test_a_mix_has_parts() -> None:
    with pytest.raises(ValueError, match="a mix has 1 to 64 parts, not 0"):
        Mix(linux(), 2, ())


def test_the_digest_changes_with_each_thing_that_is_asked_for() -> None:
    mix = two_parts()
    machine = catalog.memory_machine("desktop8")
    assert machine is not None
    assert machine.l3 is not None
    small = replace(machine, l3=replace(machine.l3, size=machine.l3.size // 2))
    others = [
        replace(mix, cpus=1),
        replace(mix, least=3),
        replace(mix, limit_ms=5),
        replace(mix, system=mix.system.on(machine)),
        replace(mix, system=mix.system.on(small)),
        changed(mix, 0, part("well#2")),
        changed(mix, 0, part("well#1", "wrong")),
        changed(mix, 0, part("well#1", cpus=(0,))),
        changed(mix, 0, part("well#1", limits=PartLimits(cpu_ppm=1000))),
        changed(mix, 0, replace(part("well#1"), workers=2)),
    ]
    assert len({one.digest for one in [mix, *others]}) == len(others) + 1
    assert mix.digest == two_parts().digest


def test_each_program_is_there_once() -> None:
    mix = Mix(linux(), 2, (part("a"), part("b", "wrong"), Part("c", None)))
    assert list(mix.programs) == ["parts/0"]


def test_what_a_mix_needs() -> None:
    files, sockets = catalog.load_workload("files"), catalog.load_workload("sockets")
    mix = two_parts()
    assert (mix.needs_disk, mix.needs_network) == (False, False)
    both = changed(changed(mix, 0, Part("f", files)), 1, Part("s", sockets))
    assert (both.needs_disk, both.needs_network) == (True, True)
