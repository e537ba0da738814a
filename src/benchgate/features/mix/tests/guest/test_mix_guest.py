"""The plan that a conductor reads, word by word, and the command line of its guest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.mix.guest import mix_guest
from benchgate.features.mix.guest.mix_runs import Mix, Part, PartLimits
from benchgate.features.mix.tests.mixkit import linux, part, two_parts
from benchgate.plan import catalog


def test_a_part_and_a_dummy() -> None:
    assert mix_guest.plan_text(two_parts()).splitlines() == [
        "mix least=2 limit_ms=1000",
        "part program=/parts/0/bench -- bench.workload=rascal bench.mode=process bench.workers=1 "
        "bench.cpus=1 bench.does=well",
        "part dummy",
    ]


def test_limits_and_services() -> None:
    limits = PartLimits(cpu_ppm=125_000, memory_bytes=1000, disk_bytes_per_s=2000, network_bytes_per_s=3000)
    files = Part("files#1", catalog.load_workload("files"), (("count", 1),), 2, limits, (0, 1))
    sockets = Part("sockets#1", catalog.load_workload("sockets"))
    mix = Mix(linux(), 2, (files, sockets))
    _, first, second = mix_guest.plan_text(mix).splitlines()
    assert first == (
        "part memory=1000 disk=2000 network=3000 cpus=0,1 cpu_us=2500 period_us=10000 "
        "program=/parts/0/bench needs_disk -- bench.workload=files bench.mode=process bench.workers=2 "
        "bench.cpus=2 bench.count=1 bench.needs=files,disk"
    )
    assert second.startswith("part program=/parts/1/bench needs_network -- bench.workload=sockets ")


TERN = (
    "mix least=3 limit_ms=10000 part cpu_us=5000 period_us=10000 program=primes -- bench.workload=primes "
    "bench.mode=process bench.workers=1 bench.cpus=1 bench.hi=20000 part program=primes -- "
    "bench.workload=primes bench.mode=process bench.workers=1 bench.cpus=1 bench.hi=20000 part same "
    "part dummy part dummy"
)


def on_tern(*parts: Part) -> Mix:
    return Mix(catalog.load_system("kernel"), 2, parts)


def test_a_kernel_with_a_conductor_has_the_plan_on_its_command_line() -> None:
    primes = catalog.load_workload("primes")
    first, second, third = (Part(f"primes#{n}", primes, (("hi", 20000),)) for n in (1, 2, 3))
    first = replace(first, limits=PartLimits(cpu_ppm=250_000))
    mix = on_tern(first, second, third, Part("dummy#1", None), Part("dummy#2", None))
    assert mix_guest.plan_text(mix) == TERN
    line = mix_guest.command_line(mix, "abc")
    assert line == f"sched=wfq fault=none bench.workload=mix bench.nonce=abc {TERN}"
    assert mix_guest.command_line(two_parts(), "abc").endswith(" bench.nonce=abc")


def test_no_part_has_a_nonce_of_the_hosts() -> None:
    assert "nonce" not in mix_guest.plan_text(two_parts())


@pytest.mark.parametrize(
    ("ppm", "cpus", "quota"),
    [
        (1_000_000, 2, (20_000, 10_000)),
        (50_000, 2, (1000, 10_000)),
        (49_999, 2, (9999, 100_000)),
        (500, 2, (1000, 1_000_000)),
    ],
)
def test_a_quota_is_at_least_1_ms(ppm: int, cpus: int, quota: tuple[int, int]) -> None:
    assert mix_guest.quota_of(ppm, cpus) == quota


def test_less_cpu_time_than_a_group_can_have() -> None:
    with pytest.raises(UsageError, match="cannot be limited to 499 millionths of 2 CPUs"):
        mix_guest.quota_of(499, 2)


def test_the_guest_counts_memory_and_has_a_disk_only_if_a_part_needs_one() -> None:
    plain = two_parts()
    system = mix_guest.system_of(plain)
    assert "cgroup_disable=memory" in plain.system.boot.append.split(" ")
    assert "cgroup_disable=memory" not in system.boot.append.split(" ")
    assert system.boot.disks == ()
    files = Mix(linux(), 2, (Part("files#1", catalog.load_workload("files")), part("a")))
    assert len(mix_guest.system_of(files).boot.disks) == 1
