"""Consoles for tests: recorded ones, and forged ones with correct frames.

The framing is implemented here again, from docs/reference/wire.md, so that a mistake in wire.py is not
repeated.
"""

from __future__ import annotations

import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from benchgate.base.cells import Cell, Lane, Mode, Params, Placement
from benchgate.base.paths import data_root
from benchgate.base.runs import Ending, RawRun
from benchgate.base.workload.workloads import ParamSpec, Workload

WORKLOADS = Path(__file__).parents[1] / "guest" / "workloads"
RECORDED = Path(__file__).parent / "data" / "consoles"
NONCE = "deadbeef01"

PRIMES = Workload(
    name="primes",
    mode=Mode.PROCESS,
    file=WORKLOADS / "primes" / "workload.yaml",
    source=WORKLOADS / "primes" / "primes.c",
    oracle=WORKLOADS / "primes" / "oracle.py",
    params={name: ParamSpec(name, 0) for name in ("hi", "split", "wait")},
)
CHECKSUM = replace(
    PRIMES,
    name="checksum",
    mode=Mode.THREAD,
    oracle=WORKLOADS / "checksum" / "oracle.py",
    params={name: ParamSpec(name, 0) for name in ("blocks", "rounds", "split", "wait")},
)


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.log").read_bytes()


def frame(words: str, seq: int) -> bytes:
    body = f"@bench {words} seq={seq}".encode()
    return body + b" crc=%08x" % binascii.crc32(body)


def console(*lines: str, ending: bytes = b"\n") -> bytes:
    """A console from lines without frames, such as `begin v=1 ...`. It adds the frames and the end line."""
    framed = [frame(line, seq) for seq, line in enumerate([*lines, f"end lines={len(lines)}"])]
    return b"".join(line + ending for line in framed)


def unframed(text: bytes) -> list[str]:
    """The lines of a console without their frames and without the end line, for `console`."""
    lines = [line for line in text.decode("ascii", "replace").split("\n") if line.startswith("@bench ")]
    return [line.removeprefix("@bench ").rsplit(" seq=", 1)[0] for line in lines][:-1]


def altered(text: bytes, kind: str, **changes: object) -> bytes:
    """The console with changed fields in its first line of this kind (`worker1`: the line of worker 1)."""
    lines = unframed(text)
    head = f"worker id={kind.removeprefix('worker')} " if kind.startswith("worker") else f"{kind} "
    at = next(number for number, line in enumerate(lines) if line.startswith(head))
    words = lines[at].split(" ")
    for key, value in changes.items():
        place = next(number for number, word in enumerate(words) if word.startswith(f"{key}="))
        words[place] = f"{key}={value}"
    lines[at] = " ".join(words)
    return console(*lines)


def version_2(text: bytes, hz: int = 1_000_000_000, **histograms: Sequence[Sequence[int]]) -> bytes:
    """The console as a guest of version 2 prints it; for each name the values of each worker."""
    lines = [line.replace("begin v=1 ", "begin v=2 ") for line in unframed(text)]
    lines[0] = re.sub(r" unit=\w+", lambda unit: f"{unit[0]} hz={hz}", lines[0])
    at = next(number for number, line in enumerate(lines) if line.startswith("window "))
    workers = range(at - 1)
    added = [
        line
        for worker in workers
        for name, of in histograms.items()
        for line in hist(worker, name, of[worker])
    ]
    return console(*lines[:at], *added, *lines[at:])


def hist(worker: int, name: str, values: Sequence[int]) -> list[str]:
    """The lines of one histogram, 8 buckets in each bucket line."""
    buckets = sorted(Counter(map(_bucket, values)).items())
    pieces = [buckets[first : first + 8] for first in range(0, len(buckets), 8)]
    numbers = [_bucket(value) for value in values]
    places, squares = sum(numbers), sum(number * number for number in numbers)
    low, high = min(values, default=0), max(values, default=0)
    return [
        f"hist worker={worker} name={name} count={len(values)} sum={sum(values)} min={low} max={high} "
        f"places={places} squares={squares} lines={len(pieces)}",
        *(
            f"bucket worker={worker} name={name} {' '.join(f'b{bucket}={count}' for bucket, count in piece)}"
            for piece in pieces
        ),
    ]


def _bucket(value: int) -> int:
    """The rule of docs/reference/wire.md, in floating point: exact for the small values of tests."""
    if value < 128:
        return value
    power = math.floor(math.log2(value))
    return (power - 6) * 128 + math.floor(value / 2.0 ** (power - 7)) - 128


def field(text: bytes, kind: str, key: str) -> int:
    """The number in a field."""
    head = f"worker id={kind.removeprefix('worker')} " if kind.startswith("worker") else f"{kind} "
    line = next(line for line in unframed(text) if line.startswith(head))
    return int(next(word for word in line.split(" ") if word.startswith(f"{key}=")).split("=")[1], 0)


def raw_run(folder: Path, text: bytes, params: Params, *, mode: Mode = Mode.PROCESS, cpus: int = 2) -> RawRun:
    """A successful run with this console in its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "serial.log").write_bytes(text)
    cell = Cell("linux", "primes" if mode is Mode.PROCESS else "checksum", mode, params, cpus)
    write_argv(folder, guest_argv(cpus, cell=cell))
    write_affinity(folder, [[cpu] for cpu in range(cpus)])
    return RawRun(
        cell=cell,
        folder=folder,
        attempt=1,
        order=0,
        nonce=NONCE,
        seed=0,
        lane=Lane.TCG,
        placement=Placement.PHYSICAL,
        pins=tuple(range(cpus)),
        warmup=False,
        ending=Ending.DONE,
        exit_status=33,
        guest_digest="a" * 64,
        host_span_ns=30_000_000_000,
    )


LINUX = (
    *("-machine", "q35,sata=off,smbus=off", "-m", "512M"),
    *("-append", yaml.safe_load((data_root() / "fixtures/systems/linux.yaml").read_text())["boot"]["append"]),
)
"""What the YAML file of the Linux guest says."""


def guest_argv(
    cpus: int,
    *,
    accel: str = "tcg,thread=multi",
    measure: bool = False,
    nonce: str = NONCE,
    cell: Cell | None = None,
) -> list[str]:
    """The words of QEMU's command line that a verifier reads. `cell`: by default that of `primes_run`."""
    params = {"hi": 100_000, "split": "cost", "wait": "join"} if cell is None else dict(cell.params)
    asked = {
        "workload": cell.workload if cell else "primes",
        "mode": cell.mode if cell else "process",
        **{"workers": cpus, "cpus": cpus, "nonce": nonce},
        **params,
        **({"measure": 1} if measure else {}),
    }
    name = f"guest=benchgate-{nonce},debug-threads=on"
    *words, own = LINUX
    request = " ".join(f"bench.{key}={value}" for key, value in asked.items())
    return ["qemu", "-name", name, "-accel", accel, "-smp", str(cpus), *words, f"{own} {request}"]


def write_argv(folder: Path, argv: Sequence[str]) -> None:
    (folder / "argv.json").write_text(json.dumps(list(argv)))


def write_affinity(folder: Path, found: Sequence[Sequence[int]]) -> None:
    """Threads of vCPUs on these host CPUs, and the main loop's."""
    main = {"thread": 9, "name": "qemu", "vcpu": None, "asked": [0, 1], "found": [0, 1]}
    vcpus = [
        {"thread": 20 + number, "name": "CPU", "vcpu": number, "asked": list(cpus), "found": list(cpus)}
        for number, cpus in enumerate(found)
    ]
    (folder / "affinity.json").write_text(json.dumps([main, *vcpus]))


PRIMES_PARAMS: Params = (("hi", 100_000), ("split", "cost"), ("wait", "join"))
CHECKSUM_PARAMS: Params = (("blocks", 4096), ("rounds", 64), ("split", "cost"), ("wait", "join"))


def primes_run(folder: Path, text: bytes) -> RawRun:
    return raw_run(folder, text, PRIMES_PARAMS)


def checksum_run(folder: Path, text: bytes) -> RawRun:
    return raw_run(folder, text, CHECKSUM_PARAMS, mode=Mode.THREAD)
