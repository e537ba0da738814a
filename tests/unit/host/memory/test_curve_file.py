"""The file of curves: written, read back, and refused where it is something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.host.memory.curve import Point
from benchgate.host.memory.curve_file import load, parse, text

CURVES = {
    "huge": (Point(4096, 1.0625, 1.125), Point(8192, 3.5, 4.0)),
    "small": (Point(4096, 1.0, 1.0),),
}
PATH = Path("host.csv")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "host.csv"
    path.write_text(text(CURVES, "huge"))
    assert load(path) == CURVES


def test_the_kind_that_decides_comes_first() -> None:
    assert list(parse(text(CURVES, "small"), PATH)) == ["small", "huge"]
    assert text(CURVES, "huge").splitlines()[:2] == ["kind,bytes,ns,typical_ns", "huge,4096,1.0625,1.1250"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", r"host.csv:1: expected `kind,bytes,ns,typical_ns`"),
        ("a,b\n", r"host.csv:1: expected"),
        ("kind,bytes,ns,typical_ns\n", r"host.csv: has no points"),
        ("kind,bytes,ns,typical_ns\nhuge,4096,1.0\n", r"host.csv:2: `huge,4096,1.0` is not a point"),
        ("kind,bytes,ns,typical_ns\nhuge,x,1.0,1.0\n", r"host.csv:2: `huge,x,1.0,1.0` is not a point"),
        ("kind,bytes,ns,typical_ns\nhuge,4096,0,1.0\n", r"host.csv:2: sizes must ascend"),
        ("kind,bytes,ns,typical_ns\nhuge,4096,inf,1.0\n", r"host.csv:2: sizes must ascend"),
        ("kind,bytes,ns,typical_ns\nhuge,2,1,1\nhuge,1,1,1\n", r"host.csv:3: sizes must ascend"),
    ],
)
def test_another_file_is_refused(raw: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(raw, PATH)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent.csv: cannot be read: No such file"):
        load(tmp_path / "absent.csv")
