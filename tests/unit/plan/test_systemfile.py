"""System YAML: the values that are read, and the errors, which name file, line and key."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.cells import Mode
from benchgate.base.errors import CatalogError
from benchgate.base.system import boots, systems
from benchgate.base.system.arch import AARCH64, X86_64
from benchgate.base.system.boots import EndBy
from benchgate.base.system.qemu import Disk, Interface, Port
from benchgate.base.system.results import ResultFormat
from benchgate.base.system.systems import AskMethod, SystemKind
from benchgate.base.workload.workloads import ParamSpec
from benchgate.plan import catalog, systemfile
from tests.wirekit import CHECKSUM, PRIMES

GOOD = """\
version: 1
name: mine
kind: qemu
boot:
  kernel: out/kernel.elf
  append: quiet
"""
SELFTEST = """\
version: 1
name: mine
kind: qemu
boot: {kernel: k.elf}
ask: selftest
console: {online: '(?P<n>[0-9]+) CPUs'}
result:
  format: patterns
  work: {begins: '^go$', pattern: 'elapsed=(?P<value>[0-9]+)', unit: cycles, shift: 20}
  answers: ['primes=(?P<count>[0-9]+)']
  expect: {count: '216816'}
"""


LINES = """\
version: 1
name: mine
kind: qemu
boot: {kernel: mine.elf}
ask: selftest
console: {online: '(?P<n>[0-9]+) CPUs'}
result: {format: bench-lines, operations: [getpid, pipe]}
"""
KILLED = SELFTEST.replace("'primes=(", "'count=(") + "end: {by: kill}\n"


def load(tmp_path: Path, text: str) -> systems.System:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return systemfile.load(path)


def test_a_short_file_has_defaults(tmp_path: Path) -> None:
    system = load(tmp_path, GOOD)
    assert (system.name, system.kind, system.ask) == ("mine", SystemKind.QEMU, AskMethod.CMDLINE)
    assert system.boot.kernel == "out/kernel.elf"
    assert (system.qemu.machine, system.qemu.smp, system.end.exit_codes) == ("q35", "{n}", (33,))
    assert (system.end.by, system.result.format) == (EndBy.EXIT, ResultFormat.BENCH)
    assert not system.end.may_reset
    assert load(tmp_path, GOOD + "end: {reset: allowed}\n").end.may_reset


def test_every_key_of_the_schema_is_read(tmp_path: Path) -> None:
    system = load(
        tmp_path,
        GOOD
        + """\
qemu: {machine: pc, cpu: max, memory: 1G, smp: "{n},sockets={n}", arguments: [-device, foo]}
build: {commands: [[make, all]], folder: src, sources: [src]}
modes: [thread]
console: {ready: "^ready", failures: ["panic"], harmless: ["^oops: t"], repeat_bytes: 5,
          online: "cpus=(?P<n>[0-9]+)"}
end: {by: kill}
deadlines: {boot_s: 5, run_s: 7.5}
cpus: {minimum: 2, maximum: 8}
services: {park: futex, clock: the counter}
""",
    )
    assert system.qemu == boots.QemuWords("pc", "max", "1G", "{n},sockets={n}", ("-device", "foo"))
    assert system.build is not None
    assert system.build.commands == (("make", "all"),)
    assert system.modes == (Mode.THREAD,)
    assert (system.console.harmless, system.console.repeat_bytes) == (("^oops: t",), 5)
    assert (system.console.ready, system.console.failures, system.console.online) == (
        "^ready",
        ("panic",),
        "cpus=(?P<n>[0-9]+)",
    )
    assert system.end.by is EndBy.KILL
    assert (system.deadlines.boot_s, system.deadlines.run_s) == (5.0, 7.5)
    assert system.services == {"park": "futex", "clock": "the counter"}
    assert "2 to 8 CPUs" in system.refuses(CHECKSUM, 1)
    assert "no process" in system.refuses(PRIMES, 2)
    assert system.refuses(CHECKSUM, 2) == ""


def test_a_workload_whose_services_are_missing_is_refused_by_their_names(tmp_path: Path) -> None:
    sleeper = replace(CHECKSUM, needs=("clock", "park", "sleep"))
    some = load(tmp_path, GOOD + "services: {clock: rdtsc}\n")
    assert some.refuses(sleeper, 1).startswith("checksum needs park, sleep, which mine does not have")
    assert load(tmp_path, GOOD).refuses(replace(CHECKSUM, needs=("files",)), 1) != ""
    every = load(tmp_path, GOOD + "services: {clock: rdtsc, park: futex, sleep: nanosleep}\n")
    assert every.refuses(sleeper, 1) == ""


def test_only_the_choices_that_need_a_service_are_refused_without_it(tmp_path: Path) -> None:
    params = {"op": ParamSpec("op", "call", ("call", "pipe"), needs={"pipe": ("channel",)})}
    ops = replace(CHECKSUM, params=params)
    system = load(tmp_path, GOOD)
    said = system.refuses(ops, 1, (("op", "pipe"),))
    assert said.startswith("checksum with op=pipe needs channel, which mine does not have")
    assert system.refuses(ops, 1, (("op", "call"),)) == ""


def test_the_operations_of_bench_lines_are_metrics_in_ns(tmp_path: Path) -> None:
    system = load(tmp_path, LINES)
    assert system.result.operations == ("getpid", "pipe")
    assert {name: (metric.unit, str(metric.better)) for name, metric in system.metrics.items()} == {
        "getpid": ("ns", "less"), "pipe": ("ns", "less"),
    }  # fmt: skip
    assert catalog.load_workload("selftest", system).metrics == system.metrics


@pytest.mark.parametrize("name", ["linux", "native", "kernel"])
def test_each_system_of_ours_says_what_it_has(name: str) -> None:
    """docs/reference/wire.md and guest/services.h promise these; tern has no files, no network, no placement,
    no control, no hotplug and no signals, and runs no programs of Linux. A host's CPUs and processes are not
    a workload's to place, take away or control."""
    absent = {
        "linux": set(),
        "native": {"placement", "control", "hotplug"},
        "kernel": {"files", "disk", "network", "placement", "control", "hotplug", "signals", "programs"},
    }
    expected = set(systems.SERVICES) - absent[name]
    assert set(catalog.load_system(name).services) == expected


ARCHES = (
    GOOD
    + """\
arch: "{arch}"
settings:
  arch: {choices: [x86_64, aarch64], default: x86_64}
qemu: {memory: 1G}
by_arch:
  aarch64:
    qemu: {cpu: cortex-a72}
    boot: {append: loud}
"""
)


def test_an_architecture_has_its_own_machine_and_way_to_end(tmp_path: Path) -> None:
    plain, arm = load(tmp_path, GOOD), load(tmp_path, GOOD + "arch: aarch64\n")
    assert (plain.arch, plain.qemu.machine, plain.end.exit_codes) == (X86_64, "q35", (33,))
    assert (arm.arch, arm.qemu.machine, arm.end.exit_codes) == (AARCH64, "virt,gic-version=3", (0,))


def test_a_setting_selects_the_architecture_and_its_part_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(ARCHES)
    plain, arm = systemfile.load(path), systemfile.load(path, {"arch": "aarch64"})
    assert (plain.name, plain.arch, plain.boot.append, plain.qemu.cpu) == ("mine", X86_64, "quiet", "")
    assert (arm.name, arm.arch, arm.boot.append) == ("mine.arch-aarch64", AARCH64, "loud")
    assert (arm.boot.kernel, arm.qemu.cpu, arm.qemu.memory) == ("out/kernel.elf", "cortex-a72", "1G")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "arch: arm64\n", r"mine\.yaml:7: arch: `arm64` is not an architecture"),
        (ARCHES.replace("  aarch64:", "  armhf:"), r"mine\.yaml:12: by_arch\.armhf: `armhf` is not an arch"),
        (
            ARCHES.replace("default: x86_64", "default: aarch64") + "    end: {exit_codes: [x]}\n",
            r"mine\.yaml:15: end\.exit_codes: expected whole numbers, found x",
        ),
    ],
)
def test_a_wrong_architecture_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        load(tmp_path, text)


def test_a_self_test_has_figures_and_known_answers(tmp_path: Path) -> None:
    system = load(tmp_path, SELFTEST)
    assert system.ask is AskMethod.SELFTEST
    work = system.result.figures["work"]
    assert (work.unit, work.shift) == ("cycles", 20)
    assert system.result.expect == {"count": "216816"}
    assert system.refuses(PRIMES, 1) == "mine runs only its own self-test"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "bootx: 1\n", r"mine\.yaml:7: bootx: unknown key; did you mean `boot`\?"),
        (GOOD.replace("kernel: out/kernel.elf", "kernal: x"), r"boot\.kernel: is missing"),
        (GOOD.replace("name: mine", "name: [a]"), r"mine\.yaml:2: name: expected text"),
        (GOOD.replace("name: mine", "name: ../x"), r"is not a name"),
        (
            GOOD.replace("version: 1", "version: 2"),
            r"version: must be 1, the version that this benchgate reads",
        ),
        (GOOD.replace("kind: qemu\n", ""), r"kind: is missing"),
        ("version: 1\nname: a\nkind: qemu\n", r"boot: is missing"),
        (GOOD + "ports: [22]\n", r"mine\.yaml:7: ports: expected a mapping"),
        (GOOD + "ports: {Web: 80}\n", r"mine\.yaml:7: ports\.Web: is not a name"),
        (GOOD + "ports: {web: 65536}\n", r"mine\.yaml:7: ports\.web: is 65536, not between 1 and 65535"),
        (GOOD + "ports: {web: {host: 80}}\n", r"mine\.yaml:7: ports\.web\.guest: is missing"),
        (
            GOOD + "ports: {" + ", ".join(f"p{number}: 1" for number in range(17)) + "}\n",
            r"mine\.yaml:7: ports: has more than 16 ports",
        ),
        (GOOD + "ask: prompt\n", r"prompt: is missing"),
        (GOOD + "steps: [a]\n", r"steps: is only for `ask: prompt`"),
        (GOOD + "  disks: [a]\n", r"mine\.yaml:7: boot\.disks: expected mappings: `- \{key: value\}`"),
        (GOOD + "  disks: [{format: raw}]\n", r"mine\.yaml:7: boot\.disks\.0\.image: is missing"),
        (
            GOOD + "  disks: [{image: a, interface: sata}]\n",
            r"disks\.0\.interface: is `sata`, not one of virt",
        ),
        (
            GOOD + "  disks: [{image: a}, {image: b, fmt: raw}]\n",
            r"boot\.disks\.1\.fmt: unknown key; did you",
        ),
        (
            GOOD.replace("kernel: out/kernel.elf", "firmware: own.bin"),
            r"mine\.yaml:6: boot\.append: is for a kernel that QEMU loads; add `kernel`",
        ),
        (
            GOOD.replace("  kernel: out/kernel.elf\n", ""),
            r"mine\.yaml:5: boot\.kernel: is missing; or give `d",
        ),
        (
            "version: 1\nname: mine\nkind: qemu\nboot: {disks: [{image: a}]}\n",
            r"ask: `cmdline` needs `boot\.kernel`, because QEMU gives a command line only",
        ),
        (GOOD + "qemu: {smp: '4'}\n", r"qemu\.smp: must contain \{n\}"),
        (GOOD + "ask: selftest\n", r"result: is missing: a self-test needs patterns"),
        (GOOD + "services: {parc: futex}\n", r"services: `parc` is not a service; did you mean `park`\?"),
        (GOOD + "services: [park]\n", r"services: expected a mapping"),
        (GOOD + "services: {park: }\n", r"services\.park: is missing: the key has no value"),
        (GOOD + "modes: [fiber]\n", r"expected process or thread, found fiber"),
        (GOOD + "cpus: {minimum: 4, maximum: 2}\n", r"cpus\.maximum: is 2, not between 4 and 64"),
        (GOOD + "console: {failures: ['(']}\n", r"`\(` is not a regular expression"),
        (
            GOOD + "console: {failures: ['x*']}\n",
            r"mine\.yaml:7: console\.failures: `x\*` matches the empty string",
        ),
        (
            GOOD + "console: {failures: ['']}\n",
            r"mine\.yaml:7: console\.failures: `` matches the empty string",
        ),
        (GOOD + "console: {ready: 'x*'}\n", r"mine\.yaml:7: console\.ready: `x\*` matches the empty string"),
        (
            SELFTEST.replace("console: {online: '(?P<n>[0-9]+) CPUs'}\n", ""),
            r"console: `online` is missing: add a pattern",
        ),
        (
            SELFTEST.replace("online: '(?P<n>[0-9]+) CPUs'", "ready: up"),
            r"mine\.yaml:6: console: `online` is missing",
        ),
        (
            SELFTEST.replace("ask: selftest", "ask: cmdline"),
            r"mine\.yaml:8: result\.format: .* for `ask: prompt` and `ask: selftest`.*benchgate docs wire",
        ),
        (
            SELFTEST.replace("begins: '^go$', ", ""),
            r"mine\.yaml:9: result\.work\.pattern: `begins` is missing: add a pattern for the line",
        ),
        (
            SELFTEST.replace("'^go$'", "'x*'"),
            r"mine\.yaml:9: result\.work\.begins: `x\*` matches the empty string",
        ),
        (SELFTEST.replace("ask: selftest\n", ""), r"mine\.yaml:7: result\.format: .*ask: selftest"),
        (
            SELFTEST.replace("  expect: {count: '216816'}\n", ""),
            r"a figure without a known answer is not a result",
        ),
        (
            GOOD + "console: {failures: ['(?u)oops']}\n",
            r"mine\.yaml:7: console\.failures: `\(\?u\)oops` cannot be matched against a console's bytes",
        ),
        (
            GOOD + r"console: {ready: 'caf\u00e9'}" + "\n",
            r"mine\.yaml:7: console\.ready: `caf.u00e9` cannot be matched .*: it is .*bad escape",
        ),
        (GOOD + "console: {ready: '^$'}\n", r"console\.ready: `\^\$` matches the empty string"),
        (GOOD + "console: {ready: '^'}\n", r"console\.ready: `\^` matches the empty string"),
        (GOOD + "console: {ready: '[[a]b'}\n", r"ready: `\[\[a\]b` is not a .*: Possible nested set"),
        (
            GOOD + "console: {online: '(?P<n>a{99999999999})'}\n",
            r"console\.online: is not a .*: the repetition",
        ),
        (
            KILLED.replace("count=(?P<count>[0-9]+)", "(count=(?P<count>[0-9]+))?"),
            r"mine\.yaml:10: result\.answers: `.*` matches the empty string, so it would",
        ),
        (KILLED.replace("count=", r"(?u)count="), r"result\.answers: `.*` cannot be matched"),
        (
            KILLED + "smoke: {pass: '(?u)good'}\n",
            r"mine\.yaml:13: smoke\.pass: `.*` cannot be matched against a console's bytes",
        ),
        (LINES.replace("[getpid, pipe]", "[]"), r"mine\.yaml:7: result\.operations: add the names"),
        (LINES.replace("getpid", "work"), r"result\.operations: `work` is duplicate, or no name of a metric"),
        (LINES.replace("getpid", "pipe"), r"result\.operations: `pipe` is duplicate"),
        (
            LINES.replace("ask: selftest\n", ""),
            r"result\.format: `bench-lines` is only for `ask: prompt` and `ask: selftest`",
        ),
        (LINES.replace("console: {online: '(?P<n>[0-9]+) CPUs'}\n", ""), r"console: `online` is missing"),
        (SELFTEST.replace("{count:", "{cuont:"), r"no pattern in `answers` has a group \(\?P<cuont>"),
        (SELFTEST.replace("(?P<value>[0-9]+)", "[0-9]+"), r"needs a named group \(\?P<value>"),
    ],
)
def test_an_invalid_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        load(tmp_path, text)


SMOKE = """\
version: 1
name: own
kind: qemu
settings:
  sched: {default: fair, choices: [fair, lottery]}
boot: {kernel: own.elf, append: "sched={sched}"}
smoke:
  append: sched={sched} selftest
  pass: "^checks: all good"
"""


def test_the_smoke_of_a_system_file() -> None:
    smoke = systemfile.parse(SMOKE, Path("own.yaml"), {"sched": "lottery"}).smoke
    assert smoke == boots.Smoke("sched=lottery selftest", "^checks: all good")
    assert systemfile.parse(SMOKE[: SMOKE.index("smoke:")], Path("own.yaml"), {}).smoke is None


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"^checks: all good"', '"("', "smoke.pass: is not a regular expression"),
        ('"^checks: all good"', '"x*"', "smoke.pass: matches the empty string"),
        ('  pass: "^checks: all good"\n', "", "smoke.pass: is missing"),
        ("append: sched={sched} selftest", "apend: selftest", r"smoke.apend: unknown key; did you mean `app"),
    ],
)
def test_an_invalid_smoke_is_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        systemfile.parse(SMOKE.replace(old, new), Path("own.yaml"), {})


def test_all_problems_of_a_file_are_in_one_error_without_those_that_follow_from_another() -> None:
    text = """version: 2
name: Own
kind: qemu
ask: selftst
boot: {kernel: k.elf, initrd: [a]}
modes: [fiber]
console: {online: '([0-9]+ CPUs', ready: ''}
result:
  format: patterns
  work: {begins: '^go$', pattern: '^took', unit: fortnights}
  answers: ['^(?P<count>[0-9]+)$']
  expect: {cuont: 3}
end: {exit_codes: many}
"""
    with pytest.raises(CatalogError) as refused:
        systemfile.parse(text, Path("own.yaml"), {})
    result = [
        line.strip().removeprefix("own.yaml:").split(": ")[:2] for line in str(refused.value).splitlines()
    ]
    assert str(refused.value).startswith("own.yaml: 10 problems:\n")
    assert result[1:] == [
        ["1", "version"],
        ["2", "name"],
        ["4", "ask"],
        ["5", "boot.initrd"],
        ["6", "modes"],
        ["7", "console.online"],
        ["10", "result.work.pattern"],
        ["10", "result.work.unit"],
        ["12", "result.expect"],
        ["13", "end.exit_codes"],
    ]


def test_a_self_test_that_firmware_starts_from_disks(tmp_path: Path) -> None:
    disks = "[{image: '{out}/fs.img', interface: ide}, {image: b.qcow2, format: qcow2}]"
    text = SELFTEST.replace("{kernel: k.elf}", f"{{firmware: bios.bin, disks: {disks}}}")
    system = load(tmp_path, text)
    assert system.boot.disks == (
        Disk("{out}/fs.img", "raw", Interface.IDE),
        Disk("b.qcow2", "qcow2", Interface.VIRTIO),
    )
    assert (system.boot.kernel, system.boot.firmware, load(tmp_path, SELFTEST).boot.firmware) == (
        "",
        "bios.bin",
        "default",
    )


def test_ports_of_a_guest(tmp_path: Path) -> None:
    ports = load(tmp_path, GOOD + "ports: {web: 80, ssh: {guest: 22, host: 2222}}\n").ports
    assert ports == {"web": Port(80), "ssh": Port(22, 2222)}


def test_a_step_types_only_ports_that_there_are(tmp_path: Path) -> None:
    text = GOOD + "ask: prompt\nprompt: '^[$] $'\nsteps: [{send: 'serve {port.web}'}]\n"
    text += "result: {format: patterns, work: marks, answers: ['^(?P<a>x)$'], expect: {a: x}}\n"
    text += "console: {online: '(?P<n>[0-9]+) CPUs'}\n"
    assert load(tmp_path, text + "ports: {web: 80}\n").ports == {"web": Port(80)}
    with pytest.raises(
        CatalogError, match=r"types \{port\.web\}, which is none of its ports; there are \{po"
    ):
        load(tmp_path, text + "ports: {ssh: 22}\n")


JUNK = st.sampled_from(
    ["", 0, "x", "(", "x*", ["a"], [], {}, {"a": "b"}, "{n}", "selftest", "kill", "native"]
)


@given(st.sampled_from([SELFTEST, LINES, SMOKE, KILLED]), st.data())
def test_a_system_file_with_any_values_is_read_or_refused(text: str, data: st.DataObject) -> None:
    """A stand-in for a refused value breaks nothing in the reading of the rest."""
    top = yaml.safe_load(text)
    for key, value in list(top.items()):
        place, name = (
            (value, data.draw(st.sampled_from(sorted(value)))) if isinstance(value, dict) else (top, key)
        )
        if data.draw(st.booleans()):
            place[name] = data.draw(JUNK)
    with contextlib.suppress(CatalogError):
        systemfile.parse(yaml.safe_dump(top), Path("own.yaml"), {})


@pytest.mark.parametrize(
    ("text", "differs"),
    [
        (GOOD, False),
        (GOOD.replace("out/kernel.elf", "'kernel-{n}.elf'"), True),
        (GOOD + "build: {commands: [[make, 'CPUS={n}', 'OUT={out}']]}\n", True),
        (GOOD + "qemu: {smp: '{n},sockets={n}'}\n", False),
    ],
)
def test_a_guest_may_be_built_for_each_cpu_count(tmp_path: Path, text: str, differs: bool) -> None:
    system = load(tmp_path, text)
    assert system.has_guest_per_count is differs
    assert (system.at(8) == system) is not differs


BY_CLOCK = SELFTEST.replace("'(?P<n>[0-9]+) CPUs'", "clock")


def test_the_clock_may_show_which_cpus_came_up(tmp_path: Path) -> None:
    console = load(tmp_path, BY_CLOCK).console
    assert (console.by_clock, console.counts_cpus, console.online) == (True, False, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "console: {online: clock}\n", r"console\.online: `clock` is for `format: patterns`"),
        (
            LINES.replace("'(?P<n>[0-9]+) CPUs'", "clock"),
            r"console\.online: `clock` is for `format: patterns`",
        ),
        (BY_CLOCK.replace("clock", "clock, online_lines: x"), r"leave out `online` or `online_lines`"),
    ],
)
def test_where_the_clock_cannot_show_it_a_line_must(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        load(tmp_path, text)
