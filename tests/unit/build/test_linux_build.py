"""Building Linux: what a configuration must have, which tools it takes, and what is said if it fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchgate.base.errors import BuildError
from benchgate.base.paths import data_root
from benchgate.build import linux_build
from benchgate.build.linux_build import LinuxOption

PARTS = ("base", "debug", "kcsan", "realtime", "rv", "sched_ext")


def effective(options: tuple[LinuxOption, ...], *without: str) -> str:
    """What Linux makes of options that it all has."""
    last = {option.name: option for option in options}
    return "".join(f"{option.line}\n" for name, option in last.items() if name not in without)


def test_every_part_has_required_options_with_a_reason() -> None:
    assert sorted(path.stem for path in (data_root() / linux_build.PARTS).glob("*.config")) == [*PARTS]
    for name in PARTS:
        text = (data_root() / linux_build.PARTS / f"{name}.config").read_text()
        options = [option for option in linux_build.read_config(name) if option.file.stem == name]
        lines = [line for line in text.splitlines() if line and not line.startswith("# ") and line != "#"]
        assert len(options) == len(lines)  # none is misspelt
        assert any(option.reason for option in options)


def test_the_base_is_in_every_configuration_and_a_part_counts_once() -> None:
    names = [option.name for option in linux_build.read_config("sched_ext+sched_ext+base")]
    assert len(names) == len(set(names))
    assert {"CONFIG_DEVTMPFS", "CONFIG_SCHED_CLASS_EXT"} <= set(names)
    assert "CONFIG_SCHED_CLASS_EXT" not in [option.name for option in linux_build.read_config("")]


def test_kcsan_is_on_from_the_first_instruction_and_names_functions_of_true_stacks() -> None:
    """allnoconfig turns its defaults off; with the base's unwinder one race had four names."""
    last = {one.name: one.value for one in linux_build.read_config("kcsan")}
    assert (last["CONFIG_KCSAN_EARLY_ENABLE"], last["CONFIG_UNWINDER_FRAME_POINTER"]) == ("y", "y")
    assert (last["CONFIG_UNWINDER_GUESS"], last["CONFIG_CONSOLE_LOGLEVEL_QUIET"]) == ("n", "5")
    required = {one.name for one in linux_build.read_config("kcsan") if one.reason}
    assert {"CONFIG_KCSAN_EARLY_ENABLE", "CONFIG_UNWINDER_FRAME_POINTER"} <= required


def test_a_complete_configuration_lacks_nothing() -> None:
    options = linux_build.read_config("sched_ext")
    assert linux_build.missing(options, effective(options)) == ""
    assert linux_build.missing(options, effective(options, "CONFIG_EXT_GROUP_SCHED")) == ""


def test_what_a_source_does_not_have_is_named_with_its_reason() -> None:
    options = linux_build.read_config("sched_ext")
    text = effective(options, "CONFIG_SCHED_CLASS_EXT", "CONFIG_X86_IOPL_IOPERM")
    said = linux_build.missing(options, text + "# CONFIG_X86_IOPL_IOPERM is not set\n").splitlines()
    assert len(said) == 2
    assert said[0].startswith(
        "  CONFIG_X86_IOPL_IOPERM=y, PID 1 ends a good run through isa-debug-exit: this"
    )
    assert said[1].startswith("  CONFIG_SCHED_CLASS_EXT=y, the class of schedulers in BPF")


def test_what_a_users_file_turns_off_is_named_with_the_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.config"
    mine.write_text("# CONFIG_FUTEX is not set\nCONFIG_HZ_1000=y # a remark is no reason\nnonsense\n")
    options = linux_build.read_config(f"sched_ext+{mine}")
    assert [(option.line, option.reason) for option in options[-2:]] == [
        ("# CONFIG_FUTEX is not set", ""),
        ("CONFIG_HZ_1000=y", ""),
    ]
    assert linux_build.missing(options, effective(options)) == (
        f"  CONFIG_FUTEX=y, workers wait for each other: {mine} has # CONFIG_FUTEX is not set"
    )


def test_unknown_parts_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"`sched_exd` is no part .*`sched_ext`"):
        linux_build.read_config("sched_exd")
    with pytest.raises(BuildError, match=r"none.config cannot be read: No such file"):
        linux_build.read_config(str(tmp_path / "none.config"))


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    linux_build.require_tools()  # this host has them
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("flex", "bc") else which(name))
    monkeypatch.setattr(linux_build, "_HEADER", "benchgate/no-such-header.h")
    with pytest.raises(BuildError, match=r"as root: apt-get install flex bc libelf-dev \(Fedora"):
        linux_build.require_tools()


def test_progress_counts_what_make_has_done() -> None:
    log = "make[1]: x\n  CC      kernel/fork.o\nwarning: y\n  HOSTCC  scripts/a\n  CC [M]  m.o\n"
    assert linux_build._progress(log) == "3 steps, now m.o"
    assert linux_build._progress("make: x\n") == "beginning"
