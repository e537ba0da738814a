"""What is said of a kernel that comes up with some CPU counts only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.systems import System
from benchgate.build.kernel_file import look
from benchgate.session.first_contact import _with_more
from benchgate.session.first_contact.candidates import Given, candidates
from benchgate.session.first_contact.listening import Boot, Stop
from tests.unit.build.test_kernel_file import I386, MULTIBOOT, elf

WAITING = Boot(1, Stop.QUIET, "start hart 1\n")


@dataclass
class Booting:
    """Kernels that come to a prompt from `least` CPUs on."""

    least: int
    said: list[str] = field(default_factory=list)

    def boot(self, _: System, cpus: int, *, patient: bool = False) -> Boot:  # noqa: ARG002
        up = Boot(cpus, Stop.PROMPT, f"{cpus} CPUs up\n$ ", prompt="$ ")
        return up if cpus >= self.least else WAITING

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize(("least", "said"), [(1, ""), (2, "with 2 CPUs"), (4, "with 4 CPUs"), (5, "")])
def test_a_kernel_that_comes_further_with_more_cpus(tmp_path: Path, least: int, said: str) -> None:
    path = tmp_path / "mine.elf"
    path.write_bytes(elf(I386, 32, body=MULTIBOOT))
    system = candidates(look(path), "x86_64", Given("mine", tmp_path / "mine.yaml"))[0]
    booting: Any = Booting(least)
    _with_more(booting, system, booting.boot(system, 1), ("{n}",))
    assert [text.partition(" it came further than with 1")[0] for text in booting.said] == (
        [said] if said else []
    )
