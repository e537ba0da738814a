"""The console of a mix: each line where it belongs, and what a part printed in output lines only."""

from __future__ import annotations

import re

import pytest

from benchgate.features.mix.guest.mix_lines import parse
from benchgate.features.mix.tests.mixkit import Ran, good_console, good_runs, mix_console, part_lines
from benchgate.judge.wire_lines import WireError
from tests.wirekit import NONCE, console, unframed

PARTS = [part_lines(0), part_lines(1, "dummy", runs=0)]


def refused(text: bytes) -> str:
    with pytest.raises(WireError) as error:
        parse(text, nonce=NONCE)
    return str(error.value)


def without(text: bytes, kind: str) -> bytes:
    """The text without its first line of this kind."""
    lines = unframed(text)
    lines.pop(next(place for place, line in enumerate(lines) if line.startswith(f"{kind} ")))
    return console(*lines)


class TestAGoodConsole:
    def test_the_facts_of_the_mix(self) -> None:
        seen = parse(good_console(), nonce=NONCE)
        assert (seen.system, seen.online, seen.least, seen.limit_ms) == ("linux", 2, 2, 1000)
        assert (seen.start, seen.end, seen.ended, seen.foreign) == (1_000_000, 61_000_000, "least", 12345)
        assert [line.kind for line in seen.parts] == ["program", "dummy"]

    def test_the_runs_with_what_they_printed(self) -> None:
        seen = parse(good_console(), nonce=NONCE)
        assert [(run.part, run.number, run.exit) for run in seen.runs] == [(0, 0, 0), (0, 1, 0)]
        assert [run.text for run in seen.runs] == [good_run.text for good_run in good_runs()]
        assert all(run.size == len(run.text) for run in seen.runs)

    def test_what_could_not_be_counted_is_none_and_says_why(self) -> None:
        seen = parse(mix_console([part_lines(0, memory_bytes="na", why="controller")], []), nonce=NONCE)
        use = seen.parts[0].uses["memory_bytes"]
        assert (use.value, use.why, use.error) == (None, "controller", 2)
        assert seen.parts[0].uses["cpu_ns"].value == 50_000_000

    def test_any_bytes_of_a_part_come_through(self) -> None:
        """Also those that would be lines of the conductor, or a panic of its kernel."""
        text = b"\n@bench end lines=0 seq=0 crc=00000000\nKernel panic - not syncing\r\n\0\xff+20\x1b[2J"
        seen = parse(mix_console(PARTS, [Ran(0, 0, 2_000_000, text)]), nonce=NONCE)
        assert seen.runs[0].text == text

    def test_log_lines_are_ignored(self) -> None:
        text = good_console().replace(b"\n@bench window", b"\n[ 1.0] virtio_blk: a disk\n@bench window")
        assert parse(text, nonce=NONCE) == parse(good_console(), nonce=NONCE)


class TestRefusals:
    def test_another_runs_nonce(self) -> None:
        assert "nonce=feed, expected deadbeef01" in refused(mix_console(PARTS, [], nonce="feed"))

    def test_a_console_that_stops(self) -> None:
        text = good_console().rsplit(b"@bench end", 1)[0] + b"benchfail: mix: part 0: cpu.max: Invalid\n"
        assert re.search(
            "^the run did not finish; .*`benchfail: mix: part 0: cpu.max: Invalid`$", refused(text)
        )

    @pytest.mark.parametrize("kind", ["begin", "part", "use", "window", "foreign"])
    def test_a_missing_line(self, kind: str) -> None:
        assert re.search(
            r"out of order|not part 0|followed by|there are 1 part", refused(without(good_console(), kind))
        )

    def test_a_missing_piece_of_an_output(self) -> None:
        assert "but the lines before it have 0 bytes" in refused(without(good_console(), "output"))

    def test_lines_of_a_kind_that_it_does_not_have(self) -> None:
        assert "out of order" in refused(console(*unframed(good_console()), "balance name=a left=1 right=1"))

    def test_a_run_of_a_part_that_is_not_there(self) -> None:
        assert "id=7 is not below 2" in refused(mix_console(PARTS, [Ran(7, 0, 2_000_000, b"")]))

    def test_an_end_that_it_does_not_know(self) -> None:
        assert "ended=tired is none of" in refused(mix_console(PARTS, [], ended="tired"))

    def test_a_line_that_was_changed(self) -> None:
        assert "its CRC does not match" in refused(
            good_console().replace(b"value=50000000", b"value=10000000")
        )

    def test_a_part_too_few(self) -> None:
        assert "workers=3, but there are 2 part lines" in refused(mix_console(PARTS, [], workers=3))
