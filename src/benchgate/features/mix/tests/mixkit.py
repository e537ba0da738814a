"""Mixes for tests: parts of the workload tests/data/mix, and forged consoles of a conductor.

The format is implemented here again, from docs/reference/wire.md, so that a mistake in guest/mix_lines.py is
not repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchgate.base.cells import Lane, Placement
from benchgate.base.runs import Ending, RawRun
from benchgate.base.system.systems import System
from benchgate.base.workload.workloads import Workload
from benchgate.features.mix.guest.mix_runs import NO_LIMITS, Mix, Part, PartLimits
from benchgate.plan import catalog
from tests.wirekit import NONCE, console, guest_argv, write_affinity, write_argv

RASCAL = Path(__file__).parent / "data"
OPENED, STOPPED = 1_000_000, 61_000_000
_USES = {"cpu_ns": 50_000_000, "memory_bytes": 4096, "disk_read_bytes": 0}
_USES |= {"disk_written_bytes": 0, "network_bytes": 0}


def rascal() -> Workload:
    return catalog.load_workload(str(RASCAL))


def linux() -> System:
    return catalog.load_system("linux")


def part(
    name: str, does: str = "well", *, cpus: tuple[int, ...] = (), limits: PartLimits = NO_LIMITS
) -> Part:
    return Part(name, rascal(), (("does", does),), 1, limits, cpus)


def two_parts() -> Mix:
    return Mix(linux(), 2, (part("well#1"), Part("dummy#1", None)), least=2, limit_ms=1000)


@cache
def turned() -> int:
    value = 1
    for _ in range(100_000):
        value = (value * 6364136223846793005 + 1442695040888963407) % 2**64
    return value


def transcript(
    number: int,
    run: int,
    start: int,
    *,
    does: str = "well",
    online: int = 2,
    cpu: int = 0,
    value: int | None = None,
    system: str = "native",
    length: int = 899_000,
    ghz: int = 1,
) -> bytes:
    """What one run of part `number` prints; its window begins 1 us after its start. `ghz`: of its clock."""
    begin, end = ghz * (start + 1000), ghz * (start + 1000 + length)
    unit = "ns" if ghz == 1 else "cycles"
    return console(
        f"begin v=2 nonce={NONCE}.p{number}.r{run} system={system} workload=rascal mode=process workers=1 "
        f"online={online} unit={unit} hz={ghz}000000000 does={does}",
        f"worker id=0 cpu={cpu} cpu_end={cpu} start={begin} end={end} "
        f"turned={turned() if value is None else value} done=0",
        f"window work_start={begin} work_end={end} total_start={begin} total_end={end}",
        "result attacks=0",
        "foreign time=na",
    )


@dataclass(frozen=True)
class Ran:
    part: int
    number: int
    start: int
    text: bytes
    exit: int = 0
    length: int = 1_000_000

    def lines(self) -> Iterator[str]:
        yield (
            f"run id={self.part} run={self.number} start={self.start} end={self.start + self.length} "
            f"exit={self.exit} bytes={len(self.text)}"
        )
        yield from output(self.text)


def output(text: bytes) -> Iterator[str]:
    """Words of at most 64 characters; any byte but a plain one is `+` and two digits. A line here has one
    word only, so that the places are easy to say."""
    for at in range(0, len(text), 20):
        piece = text[at : at + 20].decode("latin-1")
        word = re.sub(r"[^A-Za-z0-9_.:-]", lambda char: f"+{ord(char[0]):02x}", piece)
        yield f"output at={at} a={word}"


def part_lines(number: int, kind: str = "program", /, **changes: object) -> list[str]:
    """The part line, and its uses; `changes` are of both."""
    limits = dict.fromkeys(("cpu_us", "period_us", "memory", "disk", "network"), "na")
    head = {"runs": 2, "oom_kills": 0, **limits}
    head |= {name: value for name, value in changes.items() if name in head}
    uses = {name: changes.get(name, value) for name, value in _USES.items()}
    why = changes.get("why", "na")
    return [
        f"part id={number} kind={kind} " + " ".join(f"{name}={value}" for name, value in head.items()),
        *(f"use id={number} name={name} value={value} why={why} error=2" for name, value in uses.items()),
    ]


def mix_console(
    parts: Sequence[Sequence[str]], runs: Sequence[Ran], *, ended: str = "least", **begin: object
) -> bytes:
    words: Mapping[str, object] = {
        **{"v": 2, "nonce": NONCE, "system": "linux", "workload": "mix", "mode": "process"},
        **{"workers": len(parts), "online": 2, "unit": "ns", "hz": 1_000_000_000},
        **{"least": 2, "limit_ms": 1000, "memory_bytes": 500_000_000},
        **begin,
    }
    lines = ["begin " + " ".join(f"{name}={value}" for name, value in words.items())]
    lines += [line for one in parts for line in one]
    lines += [line for run in runs for line in run.lines()]
    lines += [f"window start={OPENED} end={STOPPED} ended={ended}", "foreign time=12345"]
    return console(*lines)


def good_runs(number: int = 0, count: int = 2, **facts: object) -> list[Ran]:
    """Each a millisecond, back to back."""
    starts = [OPENED + 10_000 + 1_000_000 * run for run in range(count)]
    return [
        Ran(number, run, start, transcript(number, run, start, **facts))  # type: ignore[arg-type]
        for run, start in enumerate(starts)
    ]


def good_console() -> bytes:
    return mix_console([part_lines(0), part_lines(1, "dummy", runs=0)], good_runs())


def raw_run(folder: Path, mix: Mix, text: bytes) -> RawRun:
    """A successful run of the mix, on wall time, with this console."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "serial.log").write_bytes(text)
    (folder / "mix.json").write_text(json.dumps(mix.as_json()))
    write_argv(folder, guest_argv(mix.cpus))
    write_affinity(folder, [[cpu] for cpu in range(mix.cpus)])
    return RawRun(
        cell=mix.cell,
        folder=folder,
        attempt=1,
        order=0,
        nonce=NONCE,
        seed=0,
        lane=Lane.TCG,
        placement=Placement.PHYSICAL,
        pins=tuple(range(mix.cpus)),
        warmup=False,
        ending=Ending.DONE,
        exit_status=33,
        guest_digest="a" * 64,
        host_span_ns=30_000_000_000,
    )


def changed(mix: Mix, number: int, new: Part) -> Mix:
    parts = list(mix.parts)
    parts[number] = new
    return replace(mix, parts=tuple(parts))
