"""Settings that are files, git revisions or switches of Linux: what they replace, and add to the name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.snapshots import StartKind
from benchgate.base.system.boots import SettingDisplay, SettingFile, WaitingKernel
from benchgate.base.system.systems import System
from benchgate.plan import systemfile
from tests.unit.plan.test_systemfile import SELFTEST

YAML = """\
version: 1
name: mine
kind: qemu
settings:
  kernel: {file: build/mine.elf}
  initrd: {file: ""}
  table: {file: small.txt}
  rev: {revision: worktree}
  mode: {default: slow, choices: [slow, fast]}
build: {commands: [[make, "TABLE={table}", "{rev}"]]}
boot: {kernel: "{kernel}", initrd: "{initrd}", append: "mode={mode}"}
"""
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_defaults_change_no_name(tmp_path: Path) -> None:
    system = systemfile.parse(YAML, tmp_path / "mine.yaml", {})
    assert (system.name, system.boot.kernel, system.boot.initrd) == ("mine", "build/mine.elf", "")
    assert system.build is not None
    assert (system.build.revision, system.build.files) == ("", ())


def test_a_file_is_named_by_its_base_name_and_a_commit_by_its_first_digits(tmp_path: Path) -> None:
    chosen = {"kernel": "/a b/bz Image!", "rev": COMMIT, "mode": "fast"}
    system = systemfile.parse(YAML, tmp_path / "mine.yaml", chosen)
    assert system.name == "mine.kernel-bz_Image_.rev-0123456789.mode-fast"
    assert (system.boot.kernel, system.boot.append) == ("/a b/bz Image!", "mode=fast")
    assert system.build is not None
    assert system.build.revision == COMMIT
    assert system.build.commands == (("make", "TABLE=small.txt", COMMIT),)
    other = systemfile.parse(YAML, tmp_path / "mine.yaml", {"table": "/t/big.txt"}).build
    assert other is not None
    assert (other.commands, other.files) == (
        (("make", "TABLE=/t/big.txt", "worktree"),),
        (Path("/t/big.txt"),),
    )


def test_a_long_name_is_cut(tmp_path: Path) -> None:
    system = systemfile.parse(YAML, tmp_path / "mine.yaml", {"kernel": "/" + "k" * 200})
    assert system.name == "mine.kernel-" + "k" * 24


def test_only_a_kernel_in_the_place_of_the_fetched_one_is_linux(tmp_path: Path) -> None:
    text = YAML.replace("build/mine.elf", "fetch:linux")
    for chosen in ({}, {"kernel": "/k/bzImage"}):
        assert systemfile.parse(text, tmp_path / "mine.yaml", chosen).boot.is_linux
        assert not systemfile.parse(YAML, tmp_path / "mine.yaml", chosen).boot.is_linux


@pytest.mark.parametrize("word", ["--upload-pack=x", "a b", "HEAD;ls", "$(ls)", "a" * 300, "\nHEAD"])
def test_a_word_that_is_no_revision_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match=r"setting rev: .* is not a git revision such as HEAD~1"):
        systemfile.parse(YAML, Path("mine.yaml"), {"rev": word})


def test_a_path_with_control_characters_is_refused() -> None:
    with pytest.raises(UsageError, match=r"setting kernel: .* is not the path of a file"):
        systemfile.parse(YAML, Path("mine.yaml"), {"kernel": "a\x1b[2Jb"})


def test_a_revision_needs_a_build_and_is_only_one() -> None:
    two = YAML.replace("  rev:", "  old: {revision: HEAD}\n  rev:")
    without = "\n".join(line for line in YAML.splitlines() if not line.startswith("build"))
    for text in (two, without):
        with pytest.raises(CatalogError, match="is for a system with `build`, and only once"):
            systemfile.parse(text, Path("mine.yaml"), {})


def test_what_builds_a_kernel_for_mixes(tmp_path: Path) -> None:
    both = YAML.replace("build: {", 'build: {part: [[cc, "{source}", "{mode}"]], mix: [[ld, "{mode}"]], ')
    build = systemfile.parse(both, tmp_path / "mine.yaml", {"mode": "fast"}).build
    assert build is not None
    assert (build.part, build.mix) == ((("cc", "{source}", "fast"),), (("ld", "fast"),))
    text = YAML.replace("build: {", "build: {mix: [[ld]], ")
    with pytest.raises(CatalogError, match=r"build\.mix: a mix needs both: `part` for each program"):
        systemfile.parse(text, tmp_path / "mine.yaml", {})


LINUX = """\
version: 1
name: mine
kind: qemu
settings:
  kernel: {file: fetch:linux}
  source: {source: ""}
  config: {config: sched_ext}
  scx: {program: ""}
boot: {kernel: "{kernel}", source: "{source}", config: "{config}", scheduler: "{scx}", initrd: workload}
"""


def linux(text: str = LINUX, **chosen: str) -> System:
    return systemfile.parse(text, Path("mine.yaml"), chosen)


def test_without_a_source_the_kernel_is_what_it_was() -> None:
    system = linux()
    assert (system.name, system.boot.kernel, system.boot.source, system.boot.scheduler) == (
        *("mine", "fetch:linux"),
        *("", ""),
    )
    assert (system.boot.is_linux, system.settings.files) == (True, ("kernel",))


def test_a_long_name_of_a_folder_leaves_the_commit_of_a_source() -> None:
    assert linux(source=f"/src/{'linux-' * 5}@{COMMIT}").name == "mine.source-linux-linux-l_0123456789"


def test_a_source_takes_the_place_of_the_kernel() -> None:
    system = linux(source=f"/src/linux@{COMMIT}", config="realtime+/c/mine.config", scx="/b/scx_qmap -s 5000")
    assert system.name == "mine.source-linux_0123456789.config-realtime+mine.config.scx-scx_qmap_-s_5000"
    boot = system.boot
    assert (boot.kernel, boot.source, boot.is_linux) == ("build", f"/src/linux@{COMMIT}", True)
    assert (boot.config, boot.scheduler) == ("realtime+/c/mine.config", "/b/scx_qmap -s 5000")
    assert system.settings.files == ("kernel", "source", "config", "scx")


def test_a_package_and_names_of_parts_are_no_files() -> None:
    system = linux(source="linux-source-6.12", config="realtime+debug")
    assert system.name == "mine.source-linux-source-6.12.config-realtime+debug"
    assert system.settings.files == ("kernel",)


def test_a_kernel_is_a_file_or_built() -> None:
    with pytest.raises(UsageError, match="either built of a source or a file: choose one of both"):
        linux(source="/src/linux", kernel="/k/bzImage")
    own = LINUX.replace('kernel: "{kernel}", source: "{source}"', "kernel: build, source: ../linux")
    assert (linux(own).boot.kernel, linux(own).boot.source) == ("build", "../linux")
    assert linux(own).boot.is_linux
    with pytest.raises(CatalogError, match="`build` needs the source that it is built from: add `source`"):
        linux(own.replace("source: ../linux, ", ""))


def test_only_our_pid_1_starts_a_scheduler() -> None:
    with pytest.raises(CatalogError, match="is started by our PID 1: write `initrd: workload`"):
        linux(LINUX.replace(", initrd: workload", ""), scx="/b/scx_simple")


# ---- what files of the kernel must show

SWITCHES = """\
version: 1
name: mine
kind: qemu
settings:
  preempt: {shows: [/sys/p], append: "preempt={value}", leaves_out: "quiet ", needs: CONFIG_P}
  cpus: {shows: [/sys/c], append: "isolcpus={value}", as: cpus}
  slice: {shows: ["/sys/s {value}"]}
  sysctl: {shows: ["/proc/sys/{name} {value}"]}
  rv: {shows: ["/sys/rv/{value}/react printk", "/sys/rv/{value}/on 1"], append: loglevel=5}
boot: {kernel: fetch:linux, initrd: workload, append: "quiet slice={slice}"}
"""


def test_settings_that_were_not_chosen_change_nothing() -> None:
    system = linux(SWITCHES)
    assert (system.name, system.boot.append, system.boot.kernel_files) == ("mine", "quiet slice=", ())
    assert not system.why_only_cold


def test_a_switch_is_a_word_of_the_command_line_or_files_that_are_written() -> None:
    system = linux(SWITCHES, preempt="full", slice="3000000")
    assert system.name == "mine.preempt-full.slice-3000000"
    assert system.boot.append == "slice=3000000 preempt=full"
    assert system.boot.kernel_files == (
        SettingFile("preempt=full", "/sys/p", "full", False, SettingDisplay.TEXT, "CONFIG_P"),
        SettingFile("slice=3000000", "/sys/s", "3000000", True, SettingDisplay.TEXT, ""),
    )
    assert system.why_only_cold == "preempt=full is set in each boot"


@pytest.mark.parametrize(
    ("chosen", "append"),
    [
        ({}, "quiet initcall_blacklist=a,b"),
        ({"config": "debug+/c/mine.config"}, "quiet initcall_blacklist=a,b"),
        ({"config": "rv"}, "quiet initcall_blacklist=b"),
        ({"config": "debug+rv", "rv": "wip"}, "quiet initcall_blacklist=b loglevel=5"),
    ],
)
def test_a_part_of_the_configuration_keeps_what_its_kernel_cannot_do_without(
    chosen: dict[str, str], append: str
) -> None:
    text = SWITCHES.replace(
        "settings:\n", 'settings:\n  config: {config: base, with_part: rv, leaves_out: "a,"}\n'
    )
    text = text.replace("append: loglevel=5", 'append: loglevel=5, leaves_out: "a,"')
    assert linux(text.replace("slice={slice}", "initcall_blacklist=a,b"), **chosen).boot.append == append


@pytest.mark.parametrize(
    ("chosen", "append"),
    [({}, "quiet initcall_blacklist=a,b"), ({"scx": "/s"}, "quiet initcall_blacklist=b")],
)
def test_a_program_keeps_what_it_needs_of_the_kernel(chosen: dict[str, str], append: str) -> None:
    text = SWITCHES.replace("settings:\n", 'settings:\n  scx: {program: "", leaves_out: "a,"}\n')
    assert linux(text.replace("slice={slice}", "initcall_blacklist=a,b"), **chosen).boot.append == append


def test_several_values_are_several_files_and_a_monitor_has_two() -> None:
    system = linux(SWITCHES, sysctl="vm.swappiness=1+net/ipv4/x=a b")
    assert system.name == "mine.sysctl-vm.swappiness_1+net_ipv4_x_a_b"
    assert [
        (kernel_file.setting, kernel_file.path, kernel_file.value) for kernel_file in system.boot.kernel_files
    ] == [
        ("sysctl=vm.swappiness=1", "/proc/sys/vm/swappiness", "1"),
        ("sysctl=net/ipv4/x=a b", "/proc/sys/net/ipv4/x", "a b"),
    ]
    monitor = linux(SWITCHES, rv="wwnr").boot
    assert [(kernel_file.path, kernel_file.value) for kernel_file in monitor.kernel_files] == [
        ("/sys/rv/wwnr/react", "printk"),
        ("/sys/rv/wwnr/on", "1"),
    ]
    assert monitor.append == "quiet slice= loglevel=5"


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"slice": "x" * 81}, "has more than 80 characters, and the name of a row says all"),
        ({"slice": "a\nb"}, "is not a value that a kernel takes"),
        ({"slice": '"a"'}, "is not a value that a kernel takes"),
        ({"slice": " 1"}, "is not a value that a kernel takes"),
        ({"preempt": "full init=/x"}, "is not a value that a kernel takes"),
        ({"cpus": "all"}, "is not a list of CPUs such as 1,3 or 1-3"),
        ({"cpus": "domain,1"}, "is not a list of CPUs such as 1,3 or 1-3"),
        ({"sysctl": "vm.swappiness"}, "is not NAME=VALUE, or several joined by [+]"),
        ({"sysctl": "vm.swappiness=1+"}, "is not NAME=VALUE, or several joined by [+]"),
        ({"sysctl": "../../etc/passwd=1"}, "names no file of the kernel: /proc/sys/../../etc/passwd"),
        ({"rv": "a b"}, "is not a value that a kernel takes"),
        ({"rv": "../x"}, "names no file of the kernel: /sys/rv/../x/react"),
        (
            {"slice": "+".join("1" * 40), "sysctl": "+".join(["a=1"] * 20), "rv": "a+b+c"},
            "about more than 64 files",
        ),
    ],
)
def test_a_value_that_cannot_be_set_is_refused(chosen: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        linux(SWITCHES, **chosen)


def test_only_our_pid_1_makes_settings_and_only_files_of_the_kernel_are_any() -> None:
    with pytest.raises(CatalogError, match="slice=1 is set by our PID 1: write `initrd: workload`"):
        linux(SWITCHES.replace(" initrd: workload,", ""), slice="1")
    with pytest.raises(CatalogError, match=r"`/etc/x .value.` is no file of the kernel, in /proc or /sys"):
        linux(SWITCHES.replace("/sys/s", "/etc/x"))


# ---- where runs begin


PROMPTED = r"""
version: 1
name: mine
kind: qemu
boot: {kernel: k.elf}
ask: prompt
prompt: '^\$ $'
steps: [{send: go, capture: '^sum=(?P<sum>\d+)$'}]
console: {online: '^(?P<n>\d+) CPUs$'}
result: {format: patterns, work: {begins: '^start$', pattern: '^took (?P<value>\d+)', unit: ns}}
"""
"""A guest with a prompt."""
RISCV, PORTS = "arch: riscv64\n", "ports: {ssh: 22}\n"
DISKS = "{kernel: k.elf, disks: [{image: d.img}]}"
QCOW, NVME = (DISKS.replace("d.img", f"d.img, {more}") for more in ("format: qcow2", "interface: nvme"))
DRIVE = "qemu: {arguments: [-drive, x]}\n"


def test_every_guest_has_the_setting_start_and_no_yaml_declares_it() -> None:
    cold = systemfile.parse(PROMPTED, Path("mine.yaml"), {})
    warm = systemfile.parse(PROMPTED, Path("mine.yaml"), {"start": "warm"})
    assert (cold.name, cold.boot.start, dict(cold.settings.values)) == ("mine", StartKind.COLD, {})
    assert (warm.name, warm.boot.start, dict(warm.settings.chosen)) == (
        "mine.start-warm", StartKind.WARM, {"start": "warm"},
    )  # fmt: skip
    own = PROMPTED + "settings: {start: {default: slow, choices: [slow, fast]}}\n"
    with pytest.raises(
        CatalogError, match=r"mine\.yaml.*: settings\.start: `start` is not a name for a setting"
    ):
        systemfile.parse(own, Path("mine.yaml"), {})


def test_a_cold_start_is_what_there_is_without_a_choice() -> None:
    """So it names no other system."""
    chosen = systemfile.parse(PROMPTED, Path("mine.yaml"), {"start": "cold"})
    assert chosen == systemfile.parse(PROMPTED, Path("mine.yaml"), {})
    with pytest.raises(UsageError, match="mine: setting start: `hot` is not one of cold, warm"):
        systemfile.parse(PROMPTED, Path("mine.yaml"), {"start": "hot"})


def test_start_comes_last_in_a_name(tmp_path: Path) -> None:
    text = PROMPTED + "settings: {z: {default: a, choices: [a, b]}}\n"
    system = systemfile.parse(text, tmp_path / "mine.yaml", {"start": "warm", "z": "b"})
    assert system.name == "mine.z-b.start-warm"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            PROMPTED.replace("{kernel: k.elf}", QCOW),
            "a snapshot has raw disks only, and none on nvme; d.img is qcow2",
        ),
        (
            PROMPTED.replace("{kernel: k.elf}", NVME),
            "a snapshot has raw disks only, and none on nvme; d.img is nvme",
        ),
        (PROMPTED + PORTS, "a snapshot has no network"),
        (PROMPTED + 'qemu: {memory: "512"}\n', "its `qemu.memory` is `512`, not a size such as 256M"),
        (PROMPTED + 'qemu: {memory: "64M,slots=2"}\n', "its `qemu.memory` is `64M,slots=2`, not a size"),
        (PROMPTED + DRIVE, "a snapshot has no drive or network of `qemu.arguments` (-drive)"),
        (
            PROMPTED + DRIVE.replace("-drive", "-nic"),
            "a snapshot has no drive or network of `qemu.arguments` (-nic)",
        ),
        (YAML, "its command line says what to run; only our PID 1, a prompt and a kernel that waits for"),
        ("version: 1\nname: mine\nkind: native\n", "only a guest starts warm that is told after its boot"),
        (SELFTEST, "only a guest starts warm that is told after its boot what to run"),
    ],
    ids=[
        "format",
        "nvme",
        "ports",
        "memory",
        "slots",
        "drive",
        "card",
        "command line",
        "native",
        "self-test",
    ],
)
def test_a_system_that_can_only_start_cold_is_refused_with_the_reason(text: str, why: str) -> None:
    assert systemfile.parse(text, Path("mine.yaml"), {}).why_only_cold.startswith(why)
    with pytest.raises(
        UsageError, match=f"[a-z]+ cannot start warm: {re.escape(why)}.*; leave out start=warm, or"
    ):
        systemfile.parse(text, Path("mine.yaml"), {"start": "warm"})


WAITS = """\
version: 1
name: mine
kind: qemu
settings: {mode: {default: slow, choices: [slow, fast]}}
boot: {kernel: "k{n}.elf", append: "mode={mode}", warm: {kernel: "w{n}-{mode}.elf", program: "{workload}"}}
"""


def test_a_kernel_that_waits_for_its_command_line_starts_warm() -> None:
    cold, warm = (
        systemfile.parse(WAITS, Path("mine.yaml"), {"start": start, "mode": "fast"}).at(4).boot
        for start in StartKind
    )
    waiting = WaitingKernel("w4-fast.elf", "{workload}")
    assert (cold.warm, cold.waiting, cold.loaded, cold.takes_words) == (waiting, None, "k4.elf", False)
    assert (warm.warm, warm.waiting, warm.loaded, warm.takes_words) == (
        waiting,
        waiting,
        waiting.kernel,
        True,
    )
    text = WAITS.replace(', program: "{workload}"', "")
    inside = systemfile.parse(text, Path("mine.yaml"), {"start": "warm"}).boot
    assert inside.waiting == WaitingKernel("w{n}-slow.elf")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            WAITS.replace("warm: {kernel", "initrd: workload, warm: {kernel"),
            "our PID 1 waits, not the kernel",
        ),
        (WAITS.replace('kernel: "w{n}-{mode}.elf", ', ""), r"boot\.warm\.kernel: is missing"),
        (WAITS.replace("program", "programme"), "programme: unknown key"),
        (
            PROMPTED.replace("{kernel: k.elf}", "{kernel: k.elf, warm: {kernel: k.elf}}"),
            "`boot.warm` needs `cmdline`",
        ),
        (
            WAITS.replace('kernel: "k{n}.elf", ', "disks: [{image: d}], "),
            r"boot\.warm: is for a kernel that QEMU",
        ),
    ],
    ids=["PID 1", "no kernel", "unknown", "prompt", "disk"],
)
def test_what_a_waiting_kernel_cannot_be_is_refused(text: str, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        systemfile.parse(text, Path("mine.yaml"), {})


def test_an_architecture_that_only_newer_qemus_save_starts_warm_if_somebody_asks_for_it() -> None:
    system = systemfile.parse(PROMPTED + RISCV, Path("mine.yaml"), {"start": "warm"})
    assert (system.boot.start, system.saved_since) == (StartKind.WARM, (11, 1, 0))
    assert system.why_usually_cold == "most QEMUs cannot save it"
    usual = systemfile.parse(PROMPTED, Path("mine.yaml"), {})
    assert (usual.why_usually_cold, usual.saved_since) == ("", (0, 0, 0))


def test_a_guest_with_a_scheduler_in_bpf_starts_cold_and_one_with_a_source_may_start_warm() -> None:
    built = linux(source="/src/linux", start="warm")
    assert built.boot.start is StartKind.WARM
    assert built.why_usually_cold == "a Linux that is built may not have what PID 1 needs to wait"
    assert linux().why_usually_cold == ""
    with pytest.raises(UsageError, match="cannot start warm: its scheduler in BPF takes charge in each boot"):
        linux(scx="/b/scx_simple", start="warm")


def test_a_refusal_names_the_other_settings() -> None:
    assert linux(SWITCHES, start="warm").boot.start is StartKind.WARM
    with pytest.raises(UsageError, match=r"mine\.preempt-full cannot start warm: "):
        linux(SWITCHES, preempt="full", start="warm")
