"""An existing program as a workload: the `program:` section of a workload's YAML as types.

Takes plain values, gives frozen objects. Nothing fails: plan/toolfile.py checks the file, and
judge/tool_result.py reads what the program printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

TOOL_FOLDER = "{tool}"
"""In the command: the folder with the program's files, which differs between the guest and a host."""
SERVICE = "programs"
"""The service that a system must have: it executes programs of the distribution."""
UNVERIFIED = "unverified by the tool"


class Take(StrEnum):
    """Which of several matches is the result."""

    ONLY = "only"
    """There must be exactly one."""
    SUM = "sum"
    MOST = "most"
    LEAST = "least"


@dataclass(frozen=True, slots=True)
class Capture:
    """One number that the program prints. Its value is whole: the printed number times 10**decimals."""

    name: str
    regex: str = ""
    """Has one group, the number; `^` and `$` match at line ends. Empty: `path` is used."""
    path: str = ""
    """The place in the JSON document that the program prints, such as `threads.0.latency.max`; `*` stands for
    every key or index."""
    decimals: int = 0
    take: Take = Take.ONLY


@dataclass(frozen=True, slots=True)
class Tool:
    package: str
    """The distribution's package that has the program."""
    program: str
    """The program's file name in bin, sbin, usr/bin or usr/sbin."""
    arguments: tuple[str, ...] = ()
    """Parameters and `cpus` in braces are replaced."""
    captures: tuple[Capture, ...] = ()
    exit: int = 0
    worked: tuple[str, ...] = ()
    """Regular expressions that the output must match, or the program did not do its work."""
    verifies: bool = False
    """Whether the program checks its own work and `worked` shows that it found it right. If not, its figures
    inform, and no gate may use them."""
