"""The schemas of YAML files refuse what the reader refuses of each key, and accept what it accepts.

The examples have every key of every table. Each is changed at each of its keys, in each way that is wrong by
the key's row, and both must refuse it. So a key that the reader does not read, a limit that it does not have,
and a row that the schema does not have are all found.
"""

from __future__ import annotations

import copy
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from benchgate import hooks
from benchgate.base.errors import CatalogError
from benchgate.base.paths import data_root
from benchgate.base.yaml.keys import (
    LARGEST,
    Block,
    Blocks,
    Choice,
    Commands,
    Either,
    Integer,
    Integers,
    Key,
    Number,
    Pattern,
    Table,
    Text,
    Texts,
    YamlFile,
)
from benchgate.build.programs import RECIPES, _recipes
from benchgate.plan import machinefile, policyfile, systemfile, workloadfile
from benchgate.plan.machine_keys import MACHINE
from benchgate.plan.policyfile import POLICY
from benchgate.plan.system_keys import SYSTEM
from benchgate.plan.workload_keys import WORKLOAD
from tools.input_schemas import FILES, schema_of_file

SYSTEMS = (
    """\
version: 1
name: mine
kind: qemu
about: a kernel
arch: x86_64
settings:
  sched: {choices: [rr, fair], default: rr}
  disk: {file: disk.img}
  rev: {revision: worktree}
build:
  commands: [[make, "OUT={out}"]]
  part: [[make, part]]
  mix: [[make, mix]]
  folder: kernel
  sources: [kernel]
qemu:
  machine: q35
  cpu: max
  memory: 64M
  smp: "{n}"
  arguments: [-no-reboot]
  network: e1000
  console: virtio
  binary: /usr/bin/qemu
ports:
  web: 80
  ssh: {guest: 22, host: 2222}
boot:
  kernel: "{out}/kernel.elf"
  initrd: initrd.img
  append: quiet
  symbols: kernel.map
  disks: [{image: fs.img, format: raw, interface: ide}]
  firmware: none
ask: prompt
prompt: '\\$ '
input: {line_end: "\\r", echo: true, byte_us: 50, delay_us: 2000}
steps:
  - {send: "run {nonce}", expect: "^end$", capture: "^(?P<sum>.)$", prompt: "> ", echo: true, deadline_s: 5}
  - {send: again, capture: ["^a=(?P<a>[0-9]+)$", "^b=(?P<b>[0-9]+)$"]}
modes: [process]
console:
  ready: "^up"
  failures: ["^bad"]
  harmless: ["^fine"]
  repeat_bytes: 100
  online: "(?P<n>[0-9]+) CPUs"
smoke: {append: quiet, pass: "^ok$"}
result:
  format: patterns
  work: {begins: "^go$", pattern: "t=(?P<value>[0-9]+)", unit: cycles, shift: 2, hz: 1000, step: 1}
  total: {begins: "^go$", pattern: "t=(?P<value>[0-9]+)", unit: ticks, scale: 10}
  answers: ["^sum=(?P<total>[0-9]+)$"]
  expect: {sum: "1"}
end: {by: exit, exit_codes: [33], reset: allowed}
observe:
  text: [begin, end]
  thread:
    {type: task, id: thread->id, name: thread->name, name_bytes: 8, allowed: [thread->mask, "3"],
     interrupt: [percpu(count) & 0xf, deep]}
  fork: {at: fork, when: arg1, thread: arg0}
  switch:
    {at: [go, "come?"], when: "1", from: arg0, to: arg1, blocked: from->b, dead: [from->d, "0"], queue: q}
  wake:
    {at: wake, when: [arg1->new, arg1->old], thread: arg0, only: blocked, cpu: arg1, queue: [arg1->n, "1"]}
  send: {at: [list], when: arg2, thread: [arg0->t, arg0]}
  ask:
    - {at: [wake], when: arg2, thread: arg0}
    - {at: expire, thread: [arg1->t, arg1], next: thread->next, which: [thread->key == arg0, "1"]}
  migrate: {at: move, when: arg2, thread: [arg0->t, arg0], cpu: [arg0->cpu, arg1]}
  allow: {at: [bind], when: arg2, thread: arg0, mask: [arg1->bits, arg1]}
  exit: {at: [leave], when: arg0}
  tick: {at: [look, "watch?"], when: arg0}
  yield: {at: give_way, when: [arg0->kind, arg0]}
  may_wait: {at: [rest, "join?"], when: [arg0, "1"]}
  syscall: {at: [call], when: [arg0, "1"], number: [arg1->n, arg0], bytes: [arg2, "0"]}
  fault: {at: [fault], when: [arg0, "1"]}
  ipi: {at: [send], when: [arg0, "1"]}
  events: {park: {at: [park, "wait?"], when: [arg0, "1"], adds: [arg1, "1"]}}
  objects:
    pipe:
      put: {at: [push, "shove?"], when: [arg2, "1"], object: [arg0->inode, arg0]}
      get: {at: pull, when: arg2, object: arg0}
  calls: {exit: 1, write: {number: 16, length: 2}}
deadlines: {boot_s: 5, run_s: 10}
cpus: {minimum: 1, maximum: 4}
services: {clock: rdtsc}
""",
    """\
version: 1
name: mine
kind: qemu
settings:
  source: {source: ""}
  config: {config: sched_ext, with_part: rv, leaves_out: quiet}
  scx: {program: "", leaves_out: quiet}
  smt: {shows: [/sys/devices/system/cpu/smt/control], append: "nosmt={value}", leaves_out: quiet, needs: SMT}
  mask: {shows: ["/proc/irq/default_smp_affinity {value}"], as: text}
boot: {kernel: build, source: ../linux, config: debug, scheduler: scx_a, initrd: workload}
result: {system: linux}
""",
    """\
version: 1
name: mine
extends: linux
qemu: {memory: 1G}
""",
    """\
version: 1
name: mine
kind: qemu
by_arch:
  x86_64: {boot: {kernel: k.elf}}
observe: {calls: linux}
""",
    """\
version: 1
name: mine
kind: qemu
boot: {kernel: k.elf, warm: {kernel: w.elf, program: "{workload}.elf"}}
""",
    """\
version: 1
name: mine
kind: qemu
boot: {kernel: k.elf}
ask: selftest
console: {online: clock}
result:
  format: patterns
  work: marks
  total: {from: "^go$", to: "^end$"}
  answers: ["(?P<x>.)x"]
  expect: {x: 1}
""",
    """\
version: 1
name: mine
kind: qemu
boot: {kernel: k.elf}
result: {format: bench, system: other, foreign: na}
""",
    """\
version: 1
name: mine
kind: qemu
boot: {kernel: k.elf}
ask: selftest
console: {online_lines: "^CPU up$"}
result: {format: bench-lines, operations: [getpid]}
""",
    "version: 1\nname: mine\nkind: native\n",
)
WORKLOADS = (
    """\
name: mine
about: a workload
mode: process
source: mine.c
oracle: oracle.py
needs: [clock]
workers: own
lasts: hi
files: [words.txt]
params:
  hi: {default: 10, minimum: 1, maximum: 100, unit: numbers, about: the last}
  how: {default: fast, choices: [fast, slow], unit: ways, about: which, needs: {slow: [park]}}
quick: {hi: 5}
metrics:
  each: {kind: time, of: wait.sum, per: wait.count, better: less, about: how long}
  whole: {kind: time, window: total}
  rate: {kind: rate, of: done, unit: things, window: work, better: more, about: how often}
  other: {kind: rate, of: done, per: result.time}
  late: {kind: percentile, of: wait, at: 99, unit: ns, better: less, about: how late}
  lost: {kind: count, of: lost, unit: things, better: less, about: how many}
  fair: {kind: share, of: done, per: result.all, better: more, about: how fair}
machine:
  wait: {from: [syscalls.write, program.send], to: [syscalls.read]}
  sleep: {from: [wake], to: [syscalls.futex, program.wait]}
witness:
  - {claim: syscalls.write >= printed.done, because: each is written, when: {how: fast}}
  - {claim: [atomics >= printed.done, faults >= 1], because: one of them is, when: {how: [fast, slow]}}
  - {histogram: wait, sees: wakes, since: 1ms, until: 2ms, because: it waits, when: {how: fast}}
  - {histogram: wait, sees: wakes, because: it waits, when: {how: [slow]}}
trusts: [what it says of itself]
roles: [sender, worker]
""",
    """\
name: mine
oracle: oracle.py
program:
  package: rt-tests
  run: [hackbench, -l, "{hi}"]
  verified: by-tool
  worked: {exit: 1, output: ["^good$"]}
  result:
    time: {regex: "^t=([0-9.]+)$", unit: s, take: only}
    most: {json: a.b, decimals: 2, take: most}
    least: {regex: "^l=([0-9]+)$", decimals: 1}
    last: {json: a.c, unit: ms}
params:
  hi: {default: 10, minimum: 1, maximum: 100}
""",
)
MACHINES = (
    """\
name: duo
source: a test
cpus: 2
line: 64
l1d: {size: 32K, ways: 8, sets: 64, latency_ns: 1}
l1i: {size: 32K, ways: 8, sets: 64, latency_ns: 1}
l2: {size: 256K, ways: 8, sets: 512, latency_ns: 3}
l3: {size: 8M, ways: 16, sets: 8192, latency_ns: 9}
sockets: ["0", "1"]
clusters: ["0", "1"]
nodes: [{cpus: "0", memory: 50}, {cpus: "1", memory: 50}]
memory: {local_ns: 66, remote_ns: 120, bandwidth_gb_s: 46.9}
distances: ["10 20", "20 10"]
transfer: {cluster_ns: 10, across_ns: 20, socket_ns: 90}

atomic_ns: 4
interrupt_ns: 500
tlb: {entries: 1536, ways: 12, walk_ns: 10}
order: strict
cores: [{cpus: "0", capacity: 1024}, {cpus: "1", capacity: 397}]
""",
    "name: plain\nsource: a test\nmemory: none\n",
    """\
name: uneven
source: a test
memory: none
cores: [{cpus: "0,2", capacity: 1024}, {cpus: "1", capacity: 256}]
""",
)
POLICIES = (
    """\
name: mine
looks: [5, 9]
alpha: 0.03
overall_error: 0.05
first: 5
max_runs: 9
superlinear: 1.05
superlinear_ideal: 1.01
capacity_reach: 0.9
boots: 7
apart: 0.3
minutes: 5
warmups: 1
void: {run_delay: 1, steal: 0, migrations: 1, frequency: 1, throttles: 0, involuntary: 9, most: 3, share: 0.5}
machine: desktop8
""",
    """\
name: mine
looks: [5, 9]
alpha: 0.03
overall_error: 0.05
first: 5
max_runs: 9
void: {frequency: off, psi_cpu: 1}
""",
)
PROGRAMS = (
    """\
common: [-O2]
portable: [-ffreestanding]
link: [-static]
machine: {x86_64: [-m64]}
services: {disk: [disk.c]}
programs:
  bench: {portable: [bench.c], hosted: [main.c], flags: [-DX]}
  tool: {like: bench, hosted: [tool.c]}
""",
)


@dataclass(frozen=True)
class Kind:
    """One kind of file: its table, examples with all of its keys, and what reads the file at a path."""

    file: YamlFile
    examples: tuple[str, ...]
    read: Callable[[Path], object]


def read_workload(path: Path) -> object:
    for name in ("mine.c", "oracle.py", "words.txt"):
        path.with_name(name).touch()
    return workloadfile.load(path)


def of_features() -> Iterator[tuple[YamlFile, tuple[str, ...], Callable[[Path], object]]]:
    """The examples of each feature that has kinds of files, beside its tests."""
    for name, feature in hooks.shipped().items():
        if feature.files:
            yield from importlib.import_module(f"benchgate.features.{name}.tests.examples").KINDS


KINDS = (
    Kind(SYSTEM, SYSTEMS, systemfile.load),
    Kind(WORKLOAD, WORKLOADS, read_workload),
    Kind(MACHINE, MACHINES, machinefile.load),
    Kind(POLICY, POLICIES, policyfile.load),
    Kind(RECIPES, PROGRAMS, lambda path: _recipes.__wrapped__(path, "x86_64")),
    *(Kind(*example) for example in of_features()),
)
OF_FILE = [pytest.param(kind, id=kind.file.name) for kind in KINDS]


class EditorLoader(yaml.SafeLoader):
    """Reads YAML as editors do, by the core schema of version 1.2: `no` and a date are texts."""


EditorLoader.yaml_implicit_resolvers = {}

for tag, form, first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    EditorLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{form})\Z"), list(first))


def as_json(text: str) -> Any:
    return _plain(yaml.load(text, EditorLoader))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


@cache
def validator(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(schema_of_file(next(file for file in FILES if file.name == name)))


# ---- every key has its example


@dataclass(frozen=True)
class Place:
    """A value of an example, and the row by which it is read."""

    path: tuple[str | int, ...]
    row: Key
    is_optional: bool = True
    """Whether nothing is wrong if the key is absent."""


def fits(row: Key, value: Any) -> bool:
    match row:
        case Choice(choices=choices) if choices:
            return str(value).lower() in choices
        case Pattern(groups=groups) if groups:
            return all(f"(?P<{group}>" in str(value) for group in groups)
        case Block():
            return isinstance(value, dict)
        case Blocks() | Texts() | Integers() | Commands():
            return isinstance(value, list)
    types = {Integer: (int,), Number: (int, float)}.get(type(row), (str, int, float))
    return isinstance(value, types)


def kinds_of(row: Key) -> tuple[Key, ...]:
    return row.kinds if isinstance(row, Either) else (row,)


def kind_of(row: Key, value: Any) -> Key:
    return next(key for key in kinds_of(row) if fits(key, value))


def form_of(block: Block, value: Mapping[str, Any]) -> Table:
    """The form that has all keys of the value, and whose choices allow its words."""
    for form in block.forms:
        known = {key for key in value if key in form}
        fitting = all(any(fits(one, value[key]) for one in kinds_of(form[key])) for key in known)
        if (block.others is not None or len(known) == len(value)) and fitting:
            return form
    assert not block.forms, (block.about, value)
    return {}


def places(block: Block, value: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[Place]:
    form = form_of(block, value)
    for key, one in value.items():
        row = form.get(key, block.others)
        assert row is not None
        yield Place((*path, key), row, not row.is_needed or row is block.others or block.is_partial)
        kind = kind_of(row, one)
        if isinstance(kind, Block):
            yield from places(kind, one, (*path, key))
        elif isinstance(kind, Blocks):
            for number, item in enumerate(one):
                yield from places(kind.item, item, (*path, key, number))


def rows(block: Block) -> Iterator[Key]:
    """Every row of a table that a file can reach, but those that only an architecture's part has again."""
    for row in [*(row for form in block.forms for row in form.values()), *filter(None, [block.others])]:
        for key in kinds_of(row):
            yield key
            inner = key.item if isinstance(key, Blocks) else key
            if isinstance(inner, Block) and not inner.is_partial:
                yield from rows(inner)


@pytest.mark.parametrize("kind", OF_FILE)
def test_the_examples_have_every_key_and_both_accept_them(kind: Kind, tmp_path: Path) -> None:
    seen = list[Key]()
    for number, text in enumerate(kind.examples):
        value = as_json(text)
        validator(kind.file.name).validate(value)
        (tmp_path / f"{number}.yaml").write_text(text, encoding="utf-8")
        kind.read(tmp_path / f"{number}.yaml")
        for place in places(kind.file, value):
            seen.append(kind_of(place.row, at(value, place.path)))
    assert [row.about for row in rows(kind.file) if row not in seen] == []


def test_each_kind_of_file_has_examples() -> None:
    assert [kind.file for kind in KINDS] == [*FILES]


# ---- every shipped file is valid


SHIPPED = [
    pytest.param(kind, path, id=str(path.relative_to(data_root())))
    for kind in KINDS
    for place in kind.file.places
    for path in sorted(data_root().glob(place))
]


@pytest.mark.parametrize(("kind", "path"), SHIPPED)
def test_a_shipped_file_is_valid_by_its_schema(kind: Kind, path: Path) -> None:
    validator(kind.file.name).validate(as_json(path.read_text(encoding="utf-8")))


def test_kernels_of_the_tests_are_valid_by_their_schema() -> None:
    paths = [*data_root().glob("tests/**/system.yaml"), *data_root().glob("tests/data/**/*system*.yaml")]
    assert paths
    for path in paths:
        validator("system").validate(as_json(path.read_text(encoding="utf-8")))


# ---- every key can be wrong


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def wrong_values(row: Key, value: Any) -> Iterator[Any]:
    """Values that no kind of the row has."""
    kind = kind_of(row, value)
    others = [key for key in kinds_of(row) if key is not kind]
    for wrong in _wrong_of_kind(kind, value):
        if not any(fits(key, wrong) for key in others):
            yield wrong


def _wrong_of_kind(kind: Key, value: Any) -> Iterator[Any]:
    match kind:
        case Integer(low=low, high=high):
            yield from ("many", [1], low - 1, *([high + 1] if high < LARGEST else []))
        case Number(low=low, high=high):
            yield from ("many", [1], low - 1, high * 2)
        case Choice(choices=choices) if choices:
            yield from ("no-such-word", ["a"])
        case Text():
            yield from ({"no": "text"}, ["a"])
        case Integers():
            yield from (["x"], "x", {"a": "b"})
        case Texts(choices=choices):
            yield from ("word", [["a"]], *([["no-such-word"]] if choices else []))
        case Commands():
            yield from (["make all"], [[]], "make")
        case Blocks():
            yield from (["word"], "word")
        case Block(others=None):
            yield from ("word", [1], {**value, "no_such_key": "1"})
        case Block():
            yield from ("word", [1])


def mutants(kind: Kind) -> Iterator[tuple[str, Any]]:
    """Each example with one wrong key, and what is wrong."""
    for text in kind.examples:
        value = as_json(text)
        for place in places(kind.file, value):
            where = ".".join(map(str, place.path))
            for wrong in wrong_values(place.row, at(value, place.path)):
                changed = copy.deepcopy(value)
                at(changed, place.path[:-1])[place.path[-1]] = wrong
                yield f"{where}: {wrong!r:.60}", changed
            if not place.is_optional:
                changed = copy.deepcopy(value)
                del at(changed, place.path[:-1])[place.path[-1]]
                yield f"{where} is left out", changed
        yield "a key at the top", {**value, "no_such_key": "1"}


QUICK = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@pytest.mark.parametrize("kind", OF_FILE)
def test_reader_and_schema_refuse_each_wrong_value(kind: Kind, tmp_path: Path) -> None:
    accepted, path, count = list[str](), tmp_path / "wrong.yaml", 0
    for what, value in mutants(kind):
        path.write_text(yaml.dump(value, Dumper=QUICK), encoding="utf-8")
        try:
            kind.read(path)
            accepted.append(f"the reader accepts {what}")
        except CatalogError:
            pass
        if validator(kind.file.name).is_valid(value):
            accepted.append(f"the schema accepts {what}")
        count += 1
    assert accepted == []
    assert count > 15
