"""Prepares what a workload needs besides its own program: the files that it reads, or an existing program.

Takes a workload with `files` (data, scripts, libraries that it opens); gives them for the archive of a guest,
or as a folder for a process on this host, and their digests. In both places they are executable and below one
folder, which the manifest names as `files`. Fails with BuildError that names the file.

Takes what a system boots; gives what its own PID 1 needs in the archive: the list of the kernel's files that
settings name, and a program that loads a scheduler in BPF, with its arguments and libraries.

Takes a workload with a `tool` and the files of its package; gives the runner that executes it, and the
archive of a guest with both. Fails with BuildError or FetchError. Text of the YAML becomes C only as string
constants.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from benchgate.base.errors import BuildError
from benchgate.base.files import file_digest
from benchgate.base.process import capture
from benchgate.base.system.boots import BootDefinition, SettingFile
from benchgate.base.system.systems import SettingForm
from benchgate.base.workload.workloads import GUEST_FILES, TOOL_FOLDER, Workload
from benchgate.build import cache, programs, toolchain
from benchgate.build.fetch import elf
from benchgate.build.fetch.tool import LOADER, ToolFiles

GUEST_FOLDER = "tool"
"""The guest's folder for the files, in which guest/port/linux/tool.c expects them."""
SCHEDULER_FOLDER = "scx"
"""The guest's folder for a scheduler, in which guest/init/scx.c expects it."""
SETTINGS_FILE = "settings"
"""The guest's list of files of the kernel, where guest/init/tuned.c expects it."""
_LOADERS = (f"/lib64/{LOADER}", f"/lib/{LOADER}")
_ASK_S = 30.0
_BPF_OBJECT = 247
"""The ELF header's number of the machine."""
_SOURCE = """\
// Generated from the workload's YAML.
#include "port/linux/tool.h"

const char *const tool_run[] = {{{run}, NULL}};

static const char *const params[] = {{{params}}};

const struct bench_workload bench_workload = {{
    .name = {name},
    .mode = BENCH_PROCESS,
    .param_names = params,
    .task_names = tool_tasks,
    .value_names = tool_values,
    .prepare = tool_prepare,
    .work = tool_work,
    .result = tool_result,
}};
"""


def data_for_guest(workload: Workload) -> dict[str, Path]:
    """Maps a place in the archive to its file."""
    return {f"{GUEST_FILES}/{name}": path for name, path in _data_paths(workload).items()}


def data_for_process(workload: Workload) -> Path:
    """A folder in the cache that has copies of them, so that an edit does not change a session's runs."""
    paths = _data_paths(workload)

    def make(files: Path) -> None:
        for name, path in paths.items():
            target = files / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            target.chmod(0o755)

    folder = cache.entry("data-files", {"format": "1", **_data_digests(paths)}, make)
    if any(char.isspace() for char in str(folder)):
        raise BuildError(
            f"workload {workload.name} has files, and the cache's path {folder} has a space, which the "
            "manifest cannot carry: set BENCHGATE_CACHE to a path without one"
        )
    return folder


def data_digest(workload: Workload) -> dict[str, str]:
    """The digest of each file, for a system that has no archive of them."""
    return {f"files:{name}": value for name, value in _data_digests(_data_paths(workload)).items()}


def _data_paths(workload: Workload) -> dict[str, Path]:
    return {name: workload.file.parent / name for name in workload.files}


def _data_digests(paths: dict[str, Path]) -> dict[str, str]:
    result = {}
    for name, path in paths.items():
        try:
            result[name] = file_digest(path)
        except OSError as error:
            advice = "correct the key `files` of the workload"
            raise BuildError(f"{path} cannot be read: {error.strerror}; {advice}") from error
    return result


def tool_runner(
    workload: Workload, program: Callable[[Workload, Path], Path] = programs.tool_program
) -> Path:
    """The static program that executes the tool; it depends on the YAML, not on the tool's files."""
    text = tool_source(workload)
    return program(workload, cache.file_of("tool-source", {"text": text}, "tool.c", text.encode))


def tool_source(workload: Workload) -> str:
    """The C file that describes the tool to its runner. The tool's own loader runs it with its own libraries,
    so that it runs alike in a guest, which has no others, and on any host."""
    tool = workload.tool
    assert tool is not None
    loader = [f"{TOOL_FOLDER}/lib/{LOADER}", LOADER, "--argv0", tool.program]
    libraries = f"{TOOL_FOLDER}/lib" + (":{files}" if workload.files else "")
    command = [*loader, "--library-path", libraries, f"{TOOL_FOLDER}/bin/{tool.program}"]
    return _SOURCE.format(
        run=", ".join(map(_literal, [*command, *tool.arguments])),
        params=", ".join([*map(_literal, workload.params), "NULL"]),
        name=_literal(workload.name),
    )


def _literal(text: str) -> str:
    """Writes a C string constant. No text of a YAML ends it, because only ASCII letters and digits stay."""
    return f'"{"".join(map(_constant, text.encode()))}"'


def _constant(byte: int) -> str:
    char = chr(byte)
    return char if char.isascii() and char.isalnum() else f"\\{byte:03o}"


def tool_initramfs(
    workload: Workload, files: ToolFiles, tuning: Mapping[str, Path] = MappingProxyType({})
) -> Path:
    """The archive with the runner as /bench, our PID 1, and the tool's files below /tool."""
    more = tool_for_guest(workload, files) | data_for_guest(workload) | dict(tuning)
    return programs.linux_initramfs(tool_runner(workload), more, first=first_program(tuning))


def tool_for_guest(workload: Workload, files: ToolFiles) -> dict[str, Path]:
    """Maps a place in the archive to one of the tool's files."""
    assert workload.tool is not None
    names = files.needed(workload.tool.program)
    return {f"{GUEST_FOLDER}/{name}": files.folder / name for name in names}


def tool_digest(workload: Workload, files: ToolFiles) -> dict[str, str]:
    """The digest of each of the tool's files, for a system that has no archive of them."""
    assert workload.tool is not None
    return {f"tool:{name}": file_digest(files.folder / name) for name in files.needed(workload.tool.program)}


def tuning_for_guest(boot: BootDefinition, bpf_loader: Path | None = None) -> dict[str, Path]:
    """Maps a place in the archive to a file that only PID 1 of a guest with settings needs."""
    return scheduler_for_guest(boot.scheduler, bpf_loader) | settings_for_guest(boot.kernel_files)


def first_program(tuning: Collection[str]) -> str:
    """The variant of PID 1. Without settings every byte of the archive is as it always was."""
    return programs.TUNED_INIT if tuning else programs.INIT


def settings_for_guest(files: Sequence[SettingFile]) -> dict[str, Path]:
    """The list of the files that PID 1 writes, or only reads; nothing if there are none."""
    if not files:
        return {}
    lines = (f"{file.name} {file.path}{f' {file.value}' if file.is_written else ''}" for file in files)
    return {SETTINGS_FILE: _kept_text("settings", "".join(f"{line}\n" for line in lines))}


def _kept_text(name: str, text: str) -> Path:
    return cache.file_of(f"guest-{name}", {"text": text}, name, text.encode)


def scheduler_for_guest(command: str, bpf_loader: Path | None = None) -> dict[str, Path]:
    """Maps a place in the archive to a file of the program that loads a scheduler: the program, its loader
    and libraries, and its command line. An object in BPF is loaded by ours. Nothing for an empty command."""
    if not command:
        return {}
    path, rest = SettingForm.PROGRAM.divided(command)
    place, given, arguments = f"/{SCHEDULER_FOLDER}", Path(path), rest.split()
    program = given
    if _machine(given) == _BPF_OBJECT:
        program, arguments = _for_object(given, arguments, bpf_loader), [f"{place}/{given.name}"]
    libraries = _libraries_of(program)
    loaded = [f"{place}/lib/{LOADER}", "--library-path", f"{place}/lib"] if libraries else []
    text = "".join(f"{word}\n" for word in (*loaded, f"{place}/{program.name}", *arguments))
    return {
        f"{SCHEDULER_FOLDER}/command": _kept_text("command", text),
        **{f"{SCHEDULER_FOLDER}/{file.name}": file for file in (program, given)},
        **{f"{SCHEDULER_FOLDER}/lib/{name}": value for name, value in libraries.items()},
    }


def _for_object(given: Path, arguments: Sequence[str], bpf_loader: Path | None) -> Path:
    if arguments:
        raise BuildError(
            f"{given} is an object in BPF, which takes no arguments ({' '.join(arguments)}): set its "
            "constants in its source, or give a program that loads it"
        )
    if bpf_loader is None:
        raise BuildError(
            f"{given} is an object in BPF, and only a kernel that is built here with BTF comes with a "
            "program that loads it: choose `source=` with the part sched_ext, or give a program that loads it"
        )
    return bpf_loader


def _machine(program: Path) -> int:
    """The number of the machine in its ELF header."""
    with program.open("rb") as stream:
        head = stream.read(20)
    if head[:4] != b"\x7fELF":
        raise BuildError(f"{program} is no program that can run in a guest: give an ELF file, no script")
    return int.from_bytes(head[18:20], "little")


def _libraries_of(program: Path) -> dict[str, Path]:
    """The loader and the libraries that the program finds on this host; empty if it is static."""
    if not elf.needed(program):
        return {}
    loader = next((path for path in map(Path, _LOADERS) if path.is_file()), None)
    if loader is None:
        advice = "link it statically"
        raise BuildError(f"{program} needs shared libraries, and this host has no {_LOADERS[0]}: {advice}")
    done = capture((str(loader), "--list", str(program)), _ASK_S, toolchain.environment())
    if done.returncode or "not found" in done.stdout:
        why = next((line for line in done.stdout.splitlines() if "not found" in line), done.stderr)
        raise BuildError(f"{program} cannot run here, so not in a guest either: {why.strip()[:200]}")
    result = dict(re.findall(r"^\s*(\S+) => (/.+) \(0x", done.stdout, re.MULTILINE))
    return {LOADER: loader, **{name: Path(path) for name, path in result.items() if name != LOADER}}
