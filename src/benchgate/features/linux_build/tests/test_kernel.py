"""Building Linux: what a configuration must have, which tools it takes, and what is said if it fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.errors import BuildError
from benchgate.features.linux_build import kernel
from benchgate.features.linux_build.kernel import LinuxOption
from tests.machines import PATIENCE_S, wait_until

PARTS = ("base", "debug", "kcsan", "realtime", "rv", "sched_ext")


def effective(options: tuple[LinuxOption, ...], *without: str) -> str:
    """What Linux makes of options that it all has."""
    last = {option.name: option for option in options}
    return "".join(f"{option.line}\n" for name, option in last.items() if name not in without)


def test_every_part_has_required_options_with_a_reason() -> None:
    assert sorted(path.stem for path in kernel.PARTS.glob("*.config")) == [*PARTS]
    for name in PARTS:
        text = (kernel.PARTS / f"{name}.config").read_text()
        options = [option for option in kernel.read_config(name) if option.file.stem == name]
        lines = [line for line in text.splitlines() if line and not line.startswith("# ") and line != "#"]
        assert len(options) == len(lines)  # none is misspelt
        assert any(option.reason for option in options)


def test_the_base_is_in_every_configuration_and_a_part_counts_once() -> None:
    names = [option.name for option in kernel.read_config("sched_ext+sched_ext+base")]
    assert len(names) == len(set(names))
    assert {"CONFIG_DEVTMPFS", "CONFIG_SCHED_CLASS_EXT"} <= set(names)
    assert "CONFIG_SCHED_CLASS_EXT" not in [option.name for option in kernel.read_config("")]


def test_kcsan_is_on_from_the_first_instruction_and_names_functions_of_true_stacks() -> None:
    """allnoconfig turns its defaults off; with the base's unwinder one race had four names."""
    last = {one.name: one.value for one in kernel.read_config("kcsan")}
    assert (last["CONFIG_KCSAN_EARLY_ENABLE"], last["CONFIG_UNWINDER_FRAME_POINTER"]) == ("y", "y")
    assert (last["CONFIG_UNWINDER_GUESS"], last["CONFIG_CONSOLE_LOGLEVEL_QUIET"]) == ("n", "5")
    required = {one.name for one in kernel.read_config("kcsan") if one.reason}
    assert {"CONFIG_KCSAN_EARLY_ENABLE", "CONFIG_UNWINDER_FRAME_POINTER"} <= required


def test_a_complete_configuration_lacks_nothing() -> None:
    options = kernel.read_config("sched_ext")
    assert kernel.missing(options, effective(options)) == ""
    assert kernel.missing(options, effective(options, "CONFIG_EXT_GROUP_SCHED")) == ""


def test_what_a_source_does_not_have_is_named_with_its_reason() -> None:
    options = kernel.read_config("sched_ext")
    text = effective(options, "CONFIG_SCHED_CLASS_EXT", "CONFIG_X86_IOPL_IOPERM")
    said = kernel.missing(options, text + "# CONFIG_X86_IOPL_IOPERM is not set\n").splitlines()
    assert len(said) == 2
    assert said[0].startswith(
        "  CONFIG_X86_IOPL_IOPERM=y, PID 1 ends a good run through isa-debug-exit: this"
    )
    assert said[1].startswith("  CONFIG_SCHED_CLASS_EXT=y, the class of schedulers in BPF")


def test_what_a_users_file_turns_off_is_named_with_the_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.config"
    mine.write_text("# CONFIG_FUTEX is not set\nCONFIG_HZ_1000=y # a remark is no reason\nnonsense\n")
    options = kernel.read_config(f"sched_ext+{mine}")
    assert [(option.line, option.reason) for option in options[-2:]] == [
        ("# CONFIG_FUTEX is not set", ""),
        ("CONFIG_HZ_1000=y", ""),
    ]
    assert kernel.missing(options, effective(options)) == (
        f"  CONFIG_FUTEX=y, workers wait for each other: {mine} has # CONFIG_FUTEX is not set"
    )


def test_unknown_parts_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"`sched_exd` is no part .*`sched_ext`"):
        kernel.read_config("sched_exd")
    with pytest.raises(BuildError, match=r"none.config cannot be read: No such file"):
        kernel.read_config(str(tmp_path / "none.config"))


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    which, absent = shutil.which, ("flex", "bc")

    def on_path(name: str, path: str | None = None) -> str | None:
        return None if name in absent else which(name, path=path) or f"/bin/{name}"

    monkeypatch.setattr(shutil, "which", on_path)
    monkeypatch.setattr(kernel, "_HEADERS", {"benchgate/no-such-header.h": "libelf-dev"})
    with pytest.raises(BuildError, match=r"a build of Linux .* apt-get install flex bc libelf-dev \("):
        kernel.require_tools()


def test_progress_counts_what_make_has_done() -> None:
    log = "make[1]: x\n  CC      kernel/fork.o\nwarning: y\n  HOSTCC  scripts/a\n  CC [M]  m.o\n"
    assert kernel._progress(log) == "3 steps, now m.o"
    assert kernel._progress("make: x\n") == "beginning"


# ---- a build that is interrupted or killed

TINY = """\
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) $(KCONFIG_CONFIG)
olddefconfig:
bzImage: one.o two.o
\tmkdir -p arch/x86/boot include/config
\tcp /bin/true vmlinux
\ttouch System.map arch/x86/boot/bzImage
\techo 6.12.0 > include/config/kernel.release
one.o: kernel/sched/core.c
\tcp $< $@
\techo one >> {log}
two.o: one.o
\t+echo half > $@; $(MAKE) -f {sub} hold; echo whole > $@; echo two >> {log}
"""
"""A Linux of two files, one after the other, so what was made before the interrupt is sure. The second one is
half written for as long as the file `hold` exists, while a make of its own runs, as in Linux."""
HOLD = "hold:\n\twhile [ -e {hold} ]; do sleep 0.05; done\n"


class TinyLinux:
    """It is built without the tools that a whole Linux needs, so on any host."""

    def __init__(self, folder: Path) -> None:
        self.source, self.log, self.hold, sub = (folder / name for name in ("linux", "log", "hold", "sub.mk"))
        self.cache, self.tools = folder / "cache", folder / "tools"
        self.tools.mkdir()
        for name in ("flex", "bison", "bc"):
            (self.tools / name).symlink_to("/bin/true")
        (self.tools / "gelf.h").touch()
        (self.source / "kernel/sched").mkdir(parents=True)
        (self.source / "kernel/sched/core.c").write_text("int x;\n")
        (self.source / "Kconfig").write_text("config X\n")
        (self.source / "Makefile").write_text(TINY.format(log=self.log, sub=sub))
        sub.write_text(HOLD.format(hold=self.hold))

    def start(self) -> subprocess.Popen[str]:
        words = (sys.executable, "-m", "benchgate", "build-linux", str(self.source), "--config", "base")
        path = f"{self.tools}{os.pathsep}{os.environ['PATH']}"
        own = {"BENCHGATE_CACHE": str(self.cache), "PATH": path, "CPATH": str(self.tools)}
        return subprocess.Popen(
            words,
            env=os.environ | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def half(self) -> Path | None:
        """The half-written file."""
        for path in self.cache.glob("linux-work/*/tree/two.o"):
            if path.read_text() == "half\n":
                return path
        return None

    def steps(self) -> list[str]:
        return self.log.read_text().split()


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[TinyLinux]:
    result = TinyLinux(tmp_path)
    result.hold.touch()
    yield result
    result.hold.unlink(missing_ok=True)


def whole(tiny: TinyLinux) -> list[str]:
    """The steps of make when the build is asked for again."""
    tiny.hold.unlink(missing_ok=True)
    build = tiny.start()
    said = build.communicate(timeout=PATIENCE_S)
    assert build.returncode == 0, said
    assert "Linux 6.12.0" in said[0]
    (two,) = tiny.cache.glob("linux-work/*/tree/two.o")
    assert two.read_text() == "whole\n"
    return tiny.steps()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_goes_on_where_it_stopped(tiny: TinyLinux, number: signal.Signals) -> None:
    build = tiny.start()
    assert wait_until(lambda: tiny.half() is not None)
    build.send_signal(number)
    said = build.communicate(timeout=PATIENCE_S)[1]
    assert (build.returncode, tiny.half()) == (130, None)
    assert "the same command goes on where this one stopped\nbenchgate: interrupted\n" in said
    assert whole(tiny) == ["one", "two"]


def test_a_killed_build_begins_again_and_waits_until_its_processes_have_ended(tiny: TinyLinux) -> None:
    build = tiny.start()
    assert wait_until(lambda: tiny.half() is not None)
    build.kill()
    build.communicate(timeout=PATIENCE_S)
    assert whole(tiny) == ["one", "one", "two"]


def makes_with(lock: Path) -> set[str]:
    """The processes of make that hold the lock. One may end meanwhile."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/fd/9"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if (
                path.resolve() == lock
                and b"make" in (path.parents[1] / "cmdline").read_bytes().split(b"\0")[0]
            ):
                found.add(path.parents[1].name)
    return found


def test_make_and_what_it_starts_hold_the_lock_of_the_folder(tiny: TinyLinux) -> None:
    """So nobody else builds there while processes of a killed build are left."""
    build = tiny.start()
    assert wait_until(lambda: tiny.half() is not None)
    (lock,) = tiny.cache.glob("linux-work/*.lock")
    assert wait_until(lambda: len(makes_with(lock)) >= 2)  # the second one begins after the file is half
    makes = makes_with(lock)
    build.kill()
    build.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: not any((Path("/proc") / name).exists() for name in makes))


# ---- the program that loads an object in BPF

LIBBPF_H = """\
#include <stddef.h>
struct bpf_object;
struct bpf_map;
struct bpf_link;
enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_STRUCT_OPS = 26 };
struct bpf_object *bpf_object__open_file(const char *, const void *);
int bpf_object__load(struct bpf_object *);
int bpf_map__type(const struct bpf_map *);
struct bpf_map *bpf_object__next_map(const struct bpf_object *, const struct bpf_map *);
struct bpf_link *bpf_map__attach_struct_ops(const struct bpf_map *);
#define bpf_object__for_each_map(pos, obj) \\
    for ((pos) = bpf_object__next_map((obj), NULL); (pos) != NULL; (pos) = bpf_object__next_map((obj), (pos)))
"""
LIBBPF_C = """\
#include "include/bpf/libbpf.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
// An object is its path: a letter for each map, and before them what fails.
static const char *maps;
struct bpf_object *bpf_object__open_file(const char *path, const void *options) {
    (void)options;
    maps = strrchr(path, '/') + 1;
    errno = ENOENT;
    return *maps == 'O' ? NULL : (struct bpf_object *)path;
}
int bpf_object__load(struct bpf_object *object) {
    (void)object;
    errno = EINVAL;
    return *maps == 'L' ? -1 : 0;
}
int bpf_map__type(const struct bpf_map *map) {
    return *(const char *)map == 's' ? BPF_MAP_TYPE_STRUCT_OPS : BPF_MAP_TYPE_ARRAY;
}
struct bpf_map *bpf_object__next_map(const struct bpf_object *object, const struct bpf_map *map) {
    (void)object;
    const char *next = map ? (const char *)map + 1 : maps;
    return *next ? (struct bpf_map *)next : NULL;
}
struct bpf_link *bpf_map__attach_struct_ops(const struct bpf_map *map) {
    if (*(const char *)map == 's' && *maps != 'A')
        exit(0); // in charge
    errno = EBUSY;
    return NULL;
}
"""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/x/s", ""),
        ("/x/aasa", ""),
        ("/x/O", "/x/O: it cannot be opened: No such file or directory"),
        ("/x/Ls", "/x/Ls: the kernel does not load it: Invalid argument"),
        ("/x/As", "/x/As: the kernel does not put it in charge: Device or resource busy"),
        ("/x/aa", "/x/aa has 0 tables of callbacks (struct_ops), and a scheduler is one"),
        ("/x/ss", "/x/ss has 2 tables of callbacks (struct_ops), and a scheduler is one"),
    ],
)
def test_an_object_that_is_not_one_scheduler_is_not_put_in_charge(
    tmp_path: Path, path: str, said: str
) -> None:
    (tmp_path / "include/bpf").mkdir(parents=True)
    (tmp_path / "include/bpf/libbpf.h").write_text(LIBBPF_H)
    (tmp_path / "libbpf.c").write_text(LIBBPF_C)
    for words in (("cc", "-Wno-all", "-c", "libbpf.c"), ("ar", "rcs", "libbpf.a", "libbpf.o")):
        subprocess.run(words, cwd=tmp_path, check=True)
    kernel.make_loader(tmp_path, tmp_path / "loader", ())
    done = subprocess.run([tmp_path / "loader", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1 if said else 0, said)
