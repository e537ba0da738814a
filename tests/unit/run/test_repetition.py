"""A console that repeats itself is noticed, however it is read; progress and tables are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.watching import REPEAT_BYTES
from benchgate.run.repetition import Repetition


def repeated(text: bytes, *, limit: int = REPEAT_BYTES, size: int = 1 << 16) -> str:
    found = Repetition(limit)
    return next((said for at in range(0, len(text), size) if (said := found.feed(text[at : at + size]))), "")


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (b"l", "the byte `l`"),
        (b"\n", "the byte `\\x0a`"),
        (b"unexpected trap 14\n", "`unexpected trap 14`"),
        (b"trap\n rip=1\n rsp=2\n", "trap"),
    ],
)
@pytest.mark.parametrize("size", [7, 1000, 1 << 16])
def test_what_is_repeated_is_said(unit: bytes, said: str, size: int) -> None:
    text = b"boot\nwell\n" + unit * (2 * REPEAT_BYTES // len(unit))
    assert said in repeated(text, size=size)


@pytest.mark.parametrize(
    "text",
    [
        b"." * (REPEAT_BYTES - 1),
        b"." * (REPEAT_BYTES - 10) + b" done\n" + b"." * (REPEAT_BYTES - 10),
        b"".join(b"test %d: ok\n" % number for number in range(20_000)),
        b"".join(b"." * 50 + b" %d%%\n" % (number // 100) for number in range(10_000)),
        b"0123456789abcdef" * 4000,
        b"".join(b"test %d: ok\n" % number for number in range(1000))[: REPEAT_BYTES // 8] * 20,
    ],
    ids=["dots", "two bars", "numbers", "progress", "short", "long unit"],
)
def test_progress_is_none(text: bytes) -> None:
    assert repeated(text) == ""


@given(unit=st.binary(min_size=1, max_size=64), before=st.binary(max_size=200), size=st.integers(1, 3000))
def test_any_short_unit_is_found_and_a_last_byte_that_differs_is_not(
    unit: bytes, before: bytes, size: int
) -> None:
    text = before + unit * (3000 // len(unit) + 1)
    assert repeated(text, limit=1024, size=size) != ""
    differs = unit[:-1] + bytes([unit[-1] ^ 1])
    broken = b"".join(unit * (500 // len(unit)) + differs + b"%d" % number for number in range(6))
    assert repeated(broken, limit=1024, size=size) == ""


def test_any_repetition_can_be_allowed() -> None:
    assert repeated(b"x" * 1_000_000, limit=0) == ""
