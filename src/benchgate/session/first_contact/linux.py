"""The YAML of a Linux kernel: a copy of the built-in system's with the user's image. Pure.

Takes the text of fixtures/systems/linux.yaml, the image, its architecture and a name; gives the text. A Linux
needs no first boot, because our own PID 1 and its words are known. Does not fail.
"""

from __future__ import annotations

import re

from benchgate.base.arch import Architecture
from benchgate.session.first_contact.proposal import quoted

_SETTINGS = re.compile(r"^settings:\n(?:[ ].*\n)+", re.MULTILINE)
_ABOUT = "a Linux kernel of my own, one static workload in an initramfs"


def linux_text(built_in: str, name: str, kernel: str, arch: Architecture) -> str:
    """`kernel`: the image's path, relative to the YAML file."""
    text = _SETTINGS.sub("", built_in)
    values = {"name": name, "about": _ABOUT, "arch": str(arch)}
    for key, value in values.items():
        text = _with(text, key, value)
    text = _with(text, "  kernel", quoted(kernel))
    return f"{text}result:\n  system: linux    # the name that our PID 1 prints\n"


def _with(text: str, key: str, value: str) -> str:
    """The text with another value of this key."""
    return re.sub(rf"^{key}: .*$", lambda _: f"{key}: {value}", text, flags=re.MULTILINE)
