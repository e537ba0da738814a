"""`benchgate doctor`: collects what the other modules know of this host and shows it on one screen.

Takes an optional QEMU of the user's, gives text. What cannot be had is said in its row, not raised: doctor is
what one runs when something else failed. Fails with LockError while another session measures.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchgate import fetch, insn, lanes, toolchain
from benchgate.errors import BenchgateError, BuildError
from benchgate.fetch import Qemu
from benchgate.host import lock, noise, plugin_api, topology
from benchgate.host.doctor import THRESHOLDS, Host, Said, doctor_facts, doctor_text
from benchgate.host.survey import survey

LOCK_WAIT_S = 60.0


def report(qemu_path: Path | None = None, *, fresh: bool = False) -> str:
    seen = topology.read()
    pins = topology.choose_pins(seen)
    qemu, words = _qemu(qemu_path)
    host = Host(seen, pins, {}, {})
    if qemu is not None:
        with lock.measuring(LOCK_WAIT_S, notice=_say):
            try:
                host = survey(qemu, seen, pins, tuple(THRESHOLDS), fresh=fresh)
            except BuildError as error:
                words += f"; nothing was tried on it: {error}"
    said = Said(words, _linux(), _compiler(), _insn(qemu), noise.detectors())
    return doctor_text(doctor_facts(host, said))


def _say(line: str) -> None:
    print(f"benchgate: {line}", file=sys.stderr)


def _qemu(path: Path | None) -> tuple[Qemu | None, str]:
    try:
        found = fetch.qemu(path, notice=_say)
    except BenchgateError as error:
        return None, f"none: {error}"
    try:
        plugins = plugin_api.ask(found).reason
    except BenchgateError as error:
        plugins = f"plugin API not asked for: {error}"
    version = ".".join(map(str, found.version))
    return found, f"{version} ({found.origin}), {plugins}"


def _linux() -> str:
    try:
        found = fetch.linux_kernel(notice=_say)
    except BenchgateError as error:
        return f"none: {error}"
    return ", ".join([found.version, *found.labels])


def _compiler() -> str:
    try:
        return toolchain.compiler().version
    except BenchgateError as error:
        return f"none: {error}"


def _insn(qemu: Qemu | None) -> tuple[bool, str]:
    if qemu is None:
        return False, "no QEMU"
    try:
        found = insn.support(qemu)
    except BenchgateError as error:
        return False, f"level none: {error}"
    return lanes.can_decide(found), f"level {found.level}: {found.reason}"
