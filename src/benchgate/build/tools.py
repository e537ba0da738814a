"""Prepares an existing program: its files, the runner that executes it, and the archive of a guest with both.

Takes a workload with a `tool` and the files of its package; gives paths. Fails with BuildError or FetchError.
Text of the YAML becomes C only as string constants.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchgate.base.files import file_digest
from benchgate.base.workload.workloads import TOOL_FOLDER, Workload
from benchgate.build import cache, data_files, programs
from benchgate.build.fetch.tool import LOADER, ToolFiles

GUEST_FOLDER = "tool"
"""The guest's folder for the files, in which guest/port/linux/tool.c expects them."""
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


def runner(workload: Workload, program: Callable[[Workload, Path], Path] = programs.tool_program) -> Path:
    """The static program that executes the tool; it depends on the YAML, not on the tool's files."""
    text = source(workload)

    def make(files: Path) -> None:
        (files / "tool.c").write_text(text)

    return program(workload, cache.entry("tool-source", {"text": text}, make) / "tool.c")


def source(workload: Workload) -> str:
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


def initramfs(workload: Workload, files: ToolFiles) -> Path:
    """The archive with the runner as /bench, our PID 1, and the tool's files below /tool."""
    more = for_guest(workload, files) | data_files.for_guest(workload)
    return programs.linux_initramfs(runner(workload), more)


def for_guest(workload: Workload, files: ToolFiles) -> dict[str, Path]:
    """Maps a place in the archive to one of the tool's files."""
    assert workload.tool is not None
    names = files.needed(workload.tool.program)
    return {f"{GUEST_FOLDER}/{name}": files.folder / name for name in names}


def digest(workload: Workload, files: ToolFiles) -> dict[str, str]:
    """The digest of each of the tool's files, for a system that has no archive of them."""
    assert workload.tool is not None
    return {f"tool:{name}": file_digest(files.folder / name) for name in files.needed(workload.tool.program)}
