"""The command `benchgate new-system`: its words become an order, and the proposal becomes a file.

Takes the command's parsed words; gives the text to print at the end: where the YAML is, what is left to fill
in, and what to run next. Fails with UsageError before anything is booted if a word is invalid or the file
exists.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchgate.base.boots import DEFAULT_FIRMWARE, NO_FIRMWARE
from benchgate.base.errors import UsageError
from benchgate.base.script import not_typable
from benchgate.base.text import counted
from benchgate.base.yaml_values import NAME
from benchgate.session.first_contact import Order, Say, Written, new_system
from benchgate.session.first_contact.candidates import MACHINES, Given
from benchgate.session.first_contact.proposal import missing

_LONGEST_S = 3600.0


def run(words: Mapping[str, Any], say: Say, show: Say) -> str:
    order = _order(words)
    out = order.given.out
    if out.exists() and not words["force"]:
        raise UsageError(f"{out} already exists; name another file with --out, or replace it with --force")
    found = new_system(order, say, show)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(found.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{out} cannot be written: {error.strerror}; name another file with --out"
        ) from error
    return _next(out, found)


def _order(words: Mapping[str, Any]) -> Order:
    kernel = Path(words["kernel"])
    name = words["name"] or _name_of(kernel)
    if not NAME.match(name):
        raise UsageError(f"--name {name}: use lower-case letters, digits and _, beginning with a letter")
    if words["arch"] and words["arch"] not in MACHINES:
        raise UsageError(f"--arch {words['arch']}: choose one of {', '.join(MACHINES)}")
    if not 1 <= words["seconds"] <= _LONGEST_S:
        raise UsageError(f"--seconds {words['seconds']:g}: must be between 1 and {_LONGEST_S:g}")
    for line in words["send"]:
        if wrong := not_typable(line):
            raise UsageError(f"--send cannot be typed: {wrong}")
    given = Given(
        name=name,
        out=Path(words["out"] or f"{name}.yaml"),
        disks=tuple(map(_file, words["disk"])),
        initrd=_file(words["initrd"]) if words["initrd"] else None,
        append=words["append"],
        machine=words["machine"],
        cpu=words["cpu"],
        firmware=_firmware(words["firmware"]),
        memory=words["memory"],
    )
    qemu = Path(words["qemu"]).absolute() if words["qemu"] else None
    return Order(kernel, given, words["arch"], tuple(words["send"]), words["seconds"], qemu)


def _name_of(kernel: Path) -> str:
    """`kernel` says nothing: then the folder's name is better."""
    own = kernel.absolute()
    stem = own.parent.name if own.stem.lower() in {"kernel", "vmlinuz", "image", "vmlinux"} else own.stem
    return re.sub(r"[^a-z0-9]+", "_", stem.lower()).lstrip("_0123456789").rstrip("_")[:32] or "mine"


def _firmware(word: str) -> str:
    return word if word in {"", NO_FIRMWARE, DEFAULT_FIRMWARE} else str(_file(word))


def _file(word: str) -> Path:
    path = Path(word)
    if not path.is_file():
        raise UsageError(f"{path}: does not exist")
    return path


def _next(out: Path, found: Written) -> str:
    file = shlex.quote(str(out))
    lines = [f"wrote {out}"]
    if open_lines := missing(found.text):
        lines.append(f"{counted(len(open_lines), 'line')} to fill in:")
        lines += [f"  {line}" for line in open_lines]
    return "\n".join([*lines, f"then: pytest --plan --system {file}, and a test such as:", _test(out, found)])


def _test(out: Path, found: Written) -> str:
    head = f'''
import pytest

@pytest.mark.system("{out}")
@pytest.mark.workload("{found.workload}")
'''
    if not found.scales:
        return f"{head}def test_it_works(cell):\n    cell.require_verified()\n"
    return f"""{head}@pytest.mark.speedup(cpus=2, at_least=1.5)
def test_scales(verdict):
    verdict.require_pass()
"""
