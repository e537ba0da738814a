"""`benchgate doctor`: collects facts about this host and shows them on one screen.

Takes an optional path of a QEMU; gives text. If something is missing or fails, its row says why and the other
rows are shown: doctor must work when other commands fail. Fails with HostError or UsageError only if this
process has no usable CPU.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.arch import ARCHITECTURES, Architecture
from benchgate.base.errors import BenchgateError
from benchgate.base.paths import data_root
from benchgate.base.process import capture
from benchgate.base.qemu import Qemu, comma_safe, command
from benchgate.base.text import one_line
from benchgate.build import toolchain
from benchgate.build.fetch import inputs, store
from benchgate.build.programs import compiled
from benchgate.host import lock, noise, topology
from benchgate.host.fitness import THRESHOLDS, Host, survey
from benchgate.insn.support import support
from benchgate.session.doctor_screen import Found, doctor_facts, doctor_text

LOCK_WAIT_S = 60.0


def report(qemu_path: Path | None = None, *, fresh: bool = False) -> str:
    seen = topology.read()
    pins = topology.choose_pins(seen)
    qemu, words = _qemu(qemu_path)
    host = Host(seen, pins, {}, {})
    if qemu is not None:
        try:
            with lock.measuring(LOCK_WAIT_S, notice=_say):
                host = survey(qemu, seen, pins, tuple(THRESHOLDS), fresh=fresh)
        except BenchgateError as error:
            words += f"; it was not probed: {error}"
    found = Found(words, _linux(), _compiler(), _insn(qemu), noise.detectors(), _others())
    return doctor_text(doctor_facts(host, found))


def _say(line: str) -> None:
    print(f"benchgate: {line}", file=sys.stderr)


def _qemu(path: Path | None) -> tuple[Qemu | None, str]:
    try:
        found = inputs.qemu(path, notice=_say)
    except BenchgateError as error:
        return None, f"none: {error}"
    try:
        plugins = ask(found).reason
    except BenchgateError as error:
        plugins = f"plugin API unknown: {error}"
    return found, f"{found.version_text} ({found.origin}), {plugins}"


def _linux() -> str:
    try:
        found = inputs.linux_kernel(notice=_say)
    except BenchgateError as error:
        return f"none: {error}"
    return ", ".join([found.version, *found.labels])


def _others() -> str:
    """The architectures of guests besides this host's. Nothing is fetched for this."""
    return "; ".join(f"{one}: {_other(one)}" for one in ARCHITECTURES.values() if not one.is_host)


def _other(guest: Architecture) -> str:
    try:
        found = store.fetched(guest.kind("qemu"))
    except BenchgateError as error:
        return f"none: {error}"
    if found is None:
        return "is fetched when a system needs it"
    return f"QEMU {found.about['version']} ({found.origin})"


def _compiler() -> str:
    try:
        return toolchain.compiler().version
    except BenchgateError as error:
        return f"none: {error}"


def _insn(qemu: Qemu | None) -> tuple[bool, str]:
    """Whether the instruction clock decides gates here, and what that means for the user. The figures of a
    good trial interest nobody else."""
    if qemu is None:
        return False, "no QEMU"
    try:
        found = support(qemu)
    except BenchgateError as error:
        return False, f"this QEMU was not tried: {error}"
    if found.works:
        means = "decides at any CPU count, whatever this host's speed and load"
        return True, f"{means}; used where wall time does not qualify"
    advice = "use the pinned one (leave out --qemu)"
    return False, f"this QEMU cannot carry the clock; {advice}. Its trial: {found.reason}"


# ---- the plugin interface of a QEMU


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
