"""Which version of the TCG plugin API a QEMU offers.

Takes a QEMU; gives a version, or the reason why there is none. Loads a plugin that requires version 999:
QEMU refuses it and names its newest version. Fails with BuildError if there is no C compiler.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.paths import data_root
from benchgate.base.process import capture
from benchgate.base.system.qemu import Qemu, comma_safe, command
from benchgate.base.text import one_line
from benchgate.build.programs import compiled

_FLAGS = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
_NEWEST = re.compile(r"supports only up to version (\d{1,4})")


@dataclass(frozen=True, slots=True)
class PluginApi:
    version: int | None
    reason: str
    """A description of the version, or why there is none."""


def ask(qemu: Qemu) -> PluginApi:
    """QEMU exits immediately, because it refuses the plugin before it creates a machine."""
    argv = command(qemu, machine="none", extra=("-plugin", comma_safe(str(_plugin()))))
    try:
        done = capture(argv, 20, {**os.environ, **qemu.environment})
    except subprocess.TimeoutExpired:
        return PluginApi(None, "QEMU did not exit within 20 s")
    return read_refusal(done.stderr)


def read_refusal(text: str) -> PluginApi:
    """Reads QEMU's error message. Pure."""
    newest = _NEWEST.search(text)
    if newest:
        return PluginApi(int(newest[1]), f"plugin API {newest[1]}")
    if "invalid option" in text or "not supported" in text or "not enabled" in text:
        return PluginApi(None, "built without plugins")
    return PluginApi(None, f"plugins unusable: {one_line(text, 100) or 'QEMU printed no message'}")


def _plugin() -> Path:
    folder = data_root() / "guest" / "probe"
    return compiled("plugin-api", "plugin_version.so", folder, ["plugin_version.c"], _FLAGS)
