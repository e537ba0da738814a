"""Which TCG plugin API a QEMU offers, asked of the binary itself.

Takes a QEMU; gives a version, or why there is none. It is asked by demanding version 999: QEMU refuses and
names the newest that it has. Fails with BuildError where there is no C compiler.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchgate.cache import entry
from benchgate.data import data_root
from benchgate.files import file_digest
from benchgate.host.facts import printable
from benchgate.host.probe import Emulator, leashed
from benchgate.toolchain import compiler, hear, run_all

_FLAGS = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
_NEWEST = re.compile(r"supports only up to version (\d{1,4})")


@dataclass(frozen=True, slots=True)
class PluginApi:
    version: int | None
    reason: str
    """In words, also where there is none."""


def ask(qemu: Emulator) -> PluginApi:
    """QEMU ends at once: it refuses the plugin before it makes a machine."""
    argv = [str(qemu.binary), *(word for folder in qemu.data for word in ("-L", str(folder)))]
    argv += ["-machine", "none", "-display", "none", "-nodefaults", "-plugin", str(_plugin())]
    try:
        done = hear(leashed(argv, qemu.environment), 20, os.environ)
    except subprocess.TimeoutExpired:
        return PluginApi(None, "QEMU did not answer within 20 s")
    return read_refusal(done.stderr)


def read_refusal(text: str) -> PluginApi:
    """What QEMU's refusal says. Pure."""
    newest = _NEWEST.search(text)
    if newest:
        return PluginApi(int(newest[1]), f"plugin API {newest[1]}")
    if "invalid option" in text or "not supported" in text or "not enabled" in text:
        return PluginApi(None, "built without plugins")
    return PluginApi(None, f"plugins unusable: {printable(text, 100) or 'QEMU said nothing'}")


def _plugin() -> Path:
    source = data_root() / "guest" / "probe" / "plugin_version.c"
    cc = compiler()

    def make(folder: Path) -> None:
        argv = (*cc.argv, *_FLAGS, "-o", str(folder / "plugin_version.so"), str(source))
        run_all([argv], source.parent, "plugin-version", 60.0)

    key = {"source": file_digest(source), "compiler": cc.identity, "flags": " ".join(_FLAGS)}
    return entry("plugin-api", key, make) / "plugin_version.so"
