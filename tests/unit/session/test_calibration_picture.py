"""The picture beside a calibrated machine."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from benchgate.base.machines import Machine
from benchgate.plan import machinefile
from benchgate.session.calibration_picture import sheet, stairs_of
from tests.unit.host.memory.curves import THREE, curve
from tests.unit.session.test_calibration import OTHER


def machine() -> Machine:
    found = machinefile.parse(OTHER, Path("other.yaml"))
    assert found is not None
    return found


def texts(kinds: list[str], decides: str) -> list[str]:
    root = ElementTree.fromstring(sheet(machine(), {kind: tuple(curve(THREE)) for kind in kinds}, decides))
    return [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_stairs_are_the_levels_of_the_file() -> None:
    assert [(one.name, one.size, one.ns) for one in stairs_of(machine())] == [
        ("L1d", 64 << 10, 1),
        ("L2", 512 << 10, 9),
        ("memory", None, 60),
    ]


def test_the_legend_names_each_chase_and_which_decides() -> None:
    words = " ".join(texts(["huge", "small", "local"], "small"))
    assert "all lines in random order, on huge pages page by page" not in words
    assert "all lines in random order, on huge pages" in words
    assert "on pages of 4 KiB; the file is made from it" in words
    assert "What the TLB adds" not in words


def test_pages_have_a_picture_of_their_own() -> None:
    assert any(one.startswith("What the TLB adds") for one in texts(["huge", "pages"], "huge"))
