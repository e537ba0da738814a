"""The output lines: the bytes come back as the program printed them; a missing or forged piece is refused."""

from __future__ import annotations

import pytest

from benchgate.judge import wire
from benchgate.judge.wire_lines import WireError
from tests.wirekit import NONCE, console

BEGIN = (
    f"begin v=2 nonce={NONCE} system=linux workload=w mode=process workers=1 online=1 unit=ns hz=1000000000"
)
BEFORE = (
    BEGIN,
    "worker id=0 cpu=0 cpu_end=0 start=10 end=20 exit=0 left=0",
    "window work_start=10 work_end=20 total_start=5 total_end=25",
)
AFTER = ("result printed=9", "foreign time=0")


def output(*lines: str) -> bytes:
    return wire.parse(console(*BEFORE, *lines, *AFTER), nonce=NONCE).output


def test_pieces_become_the_bytes_that_were_printed() -> None:
    assert output() == b""
    assert (
        output("output at=0 a=Time:+201.5+0a", "output at=10 a=x b=+ff+00 c=-_.") == b"Time: 1.5\nx\xff\0-_."
    )


def test_a_program_cannot_forge_a_line() -> None:
    assert output("output at=0 a=+40bench+20end+20lines+3d0+0apanic:") == b"@bench end lines=0\npanic:"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("output at=0 a=abc", "output at=4 a=d"), r"at=4, but the lines before it have 3 bytes"),
        (("output at=1 a=abc",), r"at=1, but the lines before it have 0 bytes"),
        (("output at=0 b=abc",), r"its fields must be `at`, then some of `a b c d e f` in order"),
        (("output at=0 a=abc c=d",), r"its fields must be `at`"),
        (("output at=0",), r"its fields must be `at`"),
        (("output at=0 a=ab+4",), r"a=ab\+4 is not text in which"),
        (("output at=0 a=ab+4G",), r"is not text in which"),
    ],
)
def test_a_wrong_piece_is_refused(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(WireError, match=message):
        output(*lines)


def test_more_than_the_limit_is_refused() -> None:
    pieces = " ".join(f"{key}={'x' * 64}" for key in "abcdef")
    lines = [f"output at={384 * n} {pieces}" for n in range(171)]
    assert len(output(*lines[:170])) == 65280
    with pytest.raises(WireError, match="longer than 65536 bytes"):
        output(*lines)


def test_version_1_has_no_output() -> None:
    old = BEGIN.replace("v=2", "v=1").replace(" hz=1000000000", "")
    with pytest.raises(WireError, match="output needs version 2"):
        wire.parse(console(old, *BEFORE[1:], "output at=0 a=x", *AFTER), nonce=NONCE)


def test_output_comes_before_the_result() -> None:
    with pytest.raises(WireError, match="out of order"):
        wire.parse(console(*BEFORE, AFTER[0], "output at=0 a=x", AFTER[1]), nonce=NONCE)
