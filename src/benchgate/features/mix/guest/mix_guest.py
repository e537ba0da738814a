"""Writes what asks for a mix: the plan that its conductor reads, and its boot's command line. Pure.

Takes a mix; gives text, and the cell and system with which run/argv.py makes a BootSpec. A limit of CPU time
that no control group can have fails with UsageError.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from benchgate.base.errors import UsageError
from benchgate.base.system.boots import BootDefinition
from benchgate.base.system.qemu import Disk
from benchgate.base.system.systems import System
from benchgate.base.workload.workloads import GUEST_FILES
from benchgate.build.workload_files import GUEST_FOLDER
from benchgate.features.mix.guest.mix_runs import (
    DISK_SERVICE,
    NETWORK_SERVICE,
    WHOLE_PPM,
    WORKLOAD,
    Mix,
    Part,
)
from benchgate.run.argv import manifest

SAME = "part same"
SHORTEST_US, LONGEST_US = 1_000, 1_000_000
"""Linux allows no shorter quota and no longer period."""
PERIOD_US = 10_000
"""The period for a quota of CPU time. A window must have many periods."""
NOT_IN_MIXES = ("cgroup_disable=memory",)
"""Words of the kernel's command line that would leave a part without a counter."""


def plan_text(mix: Mix) -> str:
    """The file /mix of the Linux guest (guest/port/linux/mix/plan.c). A kernel with its own conductor has it
    on its command line, where there is little room: a part like the one before is `part same`."""
    lines = [f"mix least={mix.least} limit_ms={mix.limit_ms}", *(_part(mix, part) for part in mix.parts)]
    if not mix.own_conductor:
        return "\n".join(lines) + "\n"
    same = [SAME if text == before and "=" in text else text for before, text in pairwise(["", *lines])]
    return " ".join(same)


def command_line(mix: Mix, nonce: str) -> str:
    words = [system_of(mix).boot.append]
    words += [f"bench.workload={WORKLOAD}"] if mix.own_conductor else []
    words += [f"bench.nonce={nonce}"]
    return " ".join([*words, plan_text(mix)] if mix.own_conductor else words)


def _part(mix: Mix, part: Part) -> str:
    words = ["part", *_limits(part, mix.cpus)]
    if part.workload is None:
        return " ".join([*words, "dummy"])
    place = next(place for place, workload in mix.programs.items() if workload == part.workload)
    words += [f"program={part.workload.name if mix.own_conductor else f'/{place}/bench'}"]
    words += [f"folder=/{place}/{GUEST_FOLDER}"] if part.workload.tool else []
    words += ["needs_disk"] if part.needs(DISK_SERVICE) else []
    words += ["needs_network"] if part.needs(NETWORK_SERVICE) else []
    files = f"/{place}/{GUEST_FILES}" if part.workload.files else ""
    asked = manifest(part.cell, "", needs=part.workload.needs, files=files)
    return " ".join([*words, "--", asked])


def _limits(part: Part, cpus: int) -> list[str]:
    limits = part.limits
    known = {"memory": limits.memory_bytes, "disk": limits.disk_bytes_per_s}
    known["network"] = limits.network_bytes_per_s
    words = [f"{name}={value}" for name, value in known.items() if value is not None]
    words += [f"cpus={','.join(map(str, part.cpus))}"] if part.cpus else []
    if limits.cpu_ppm is not None:
        quota, period = quota_of(limits.cpu_ppm, cpus)
        words += [f"cpu_us={quota}", f"period_us={period}"]
    return words


def quota_of(ppm: int, cpus: int) -> tuple[int, int]:
    """Computes the quota and its period, in us, for this share of all CPUs."""
    period = PERIOD_US
    while (quota := ppm * cpus * period // WHOLE_PPM) < SHORTEST_US:
        period *= 10
        if period > LONGEST_US:
            raise UsageError(f"a part cannot be limited to {ppm} millionths of {cpus} CPUs: too little")
    return quota, period


def system_of(mix: Mix) -> System:
    """The mix's system with the words and the disk of its guest."""
    boot: BootDefinition = mix.system.boot
    words = " ".join(word for word in boot.append.split(" ") if word not in NOT_IN_MIXES)
    disks = (Disk("ext2.img"),) if mix.needs_disk else ()
    return replace(mix.system, boot=replace(boot, append=words, disks=disks))
