"""The parser accepts the wire format of docs/reference/wire.md and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.judge import wire
from benchgate.judge.wire import AttributionBucket, Balance
from benchgate.judge.wire_lines import WireError
from tests import wirekit
from tests.wirekit import NONCE, console

BEGIN = f"begin v=1 nonce={NONCE} system=linux workload=w mode=process workers=1 online=1 unit=ns hi=7"
BEGIN2 = BEGIN.replace("v=1", "v=2").replace(" unit=ns", " unit=ns hz=1000000000")
HIST = "hist worker=0 name=wakeup count=0 sum=0 min=0 max=0 places=0 squares=0 lines=0"
WORKER = "worker id=0 cpu=0 cpu_end=0 start=10 end=20 lo=2 fold=0x00000000000000ff"
WINDOW = "window work_start=10 work_end=20 total_start=5 total_end=25"
LINES = (BEGIN, WORKER, WINDOW, "result count=4", "foreign time=3")
GOOD = console(*LINES)
PRIMES = wirekit.recorded("good-linux-primes-smp2")


def test_every_field_of_a_complete_console_is_read() -> None:
    said = wire.parse(GOOD, nonce=NONCE)
    assert (said.system, said.workload, said.mode, said.unit) == ("linux", "w", "process", "ns")
    assert (said.workers, said.online, dict(said.params)) == (1, 1, {"hi": "7"})
    assert (said.work_start, said.work_end, said.total_start, said.total_end) == (10, 20, 5, 25)
    assert (dict(said.result), said.foreign) == ({"count": 4}, 3)
    report = said.reports[0]
    assert (report.id, report.cpu, report.cpu_end, report.start, report.end) == (0, 0, 0, 10, 20)
    assert dict(report.values) == {"lo": 2, "fold": 255}


def test_a_recorded_console_with_firmware_noise_and_cr_lf() -> None:
    said = wire.parse(PRIMES, nonce=NONCE)
    assert said.workers == said.online == len(said.reports) == 2
    assert dict(said.params) == {"hi": "100000", "split": "cost", "wait": "join"}
    assert said.result["count"] == 9592  # pi(100000)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_both_line_endings(ending: bytes) -> None:
    assert wire.parse(console(*LINES, ending=ending), nonce=NONCE).work_end == 20


def test_version_2_says_the_unit_of_its_clock_and_has_histograms() -> None:
    said = wire.parse(console(BEGIN2, WORKER, HIST, *LINES[2:]), nonce=NONCE)
    assert (said.hz, dict(said.params)) == (1_000_000_000, {"hi": "7"})
    assert [len(histogram) for histogram in said.histograms.values()] == [1]
    cycles = BEGIN2.replace("unit=ns hz=1000000000", "unit=cycles hz=2400000000")
    assert wire.parse(console(cycles, *LINES[1:]), nonce=NONCE).hz == 2_400_000_000


def test_version_1_may_have_a_parameter_called_hz() -> None:
    said = wire.parse(changed(0, f"{BEGIN} hz=9"), nonce=NONCE)
    assert (said.hz, dict(said.params)) == (1_000_000_000, {"hi": "7", "hz": "9"})
    cycles = BEGIN.replace("unit=ns", "unit=cycles")
    assert wire.parse(changed(0, cycles), nonce=NONCE).hz is None


def test_log_lines_between_the_frames_are_ignored() -> None:
    noisy = b"boot\r\n\xff\x00\x1b[2J\n" + GOOD.replace(b"\n", b"\n[ 1.0] printk\n") + b"bye"
    assert wire.parse(noisy, nonce=NONCE) == wire.parse(GOOD, nonce=NONCE)


def test_foreign_time_may_be_na() -> None:
    assert wire.parse(console(*LINES[:4], "foreign time=na"), nonce=NONCE).foreign is None


def test_measures_and_balances() -> None:
    said = wire.parse(
        console(
            *LINES,
            "measure phase=work cpu=0 name=ticks value=9",
            "measure phase=work cpu=na name=network_poll value=na",
            "balance name=queue0 left=4 right=5",
        ),
        nonce=NONCE,
    )
    assert said.measures == (
        AttributionBucket("work", 0, "ticks", 9),
        AttributionBucket("work", None, "network_poll", None),
    )
    assert said.balances == (Balance("queue0", 4, 5),)


def changed(index: int, line: str) -> bytes:
    lines = list(LINES)
    lines[index] = line
    return console(*lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(b"", "no @bench line", id="empty"),
        pytest.param(b"benchready\n", "no @bench line", id="log only"),
        pytest.param(
            changed(0, BEGIN.replace(NONCE, "cafe")), "the console of another run", id="stale nonce"
        ),
        pytest.param(changed(0, BEGIN.replace("v=1", "v=3")), "wire format version 3", id="version"),
        pytest.param(changed(0, BEGIN.replace("v=1", "v=2")), "must begin with .* unit hz`", id="no hz"),
        pytest.param(changed(0, BEGIN2.replace("hz=1000000000", "hz=0")), "hz=0 is not how many", id="hz 0"),
        pytest.param(changed(0, BEGIN2.replace("hz=1000", "hz=1001")), "hz=1001000000 is not", id="ns hz"),
        pytest.param(changed(0, BEGIN2.replace("hz=1", "hz=99")), "is not below", id="hz too large"),
        pytest.param(console(*LINES[:2], HIST, *LINES[2:]), "need version 2", id="hist of version 1"),
        pytest.param(
            console(BEGIN2, HIST, *LINES[1:]), "out of order: expected worker after begin", id="hist first"
        ),
        pytest.param(changed(0, BEGIN.replace("v=1 nonce", "nonce")), "must begin with", id="no version"),
        pytest.param(
            changed(0, BEGIN.replace("workers=1", "workers=2")), "but there are 1 worker lines", id="workers"
        ),
        pytest.param(
            changed(0, BEGIN.replace("workers=1", "workers=65")), "is not below 65", id="65 workers"
        ),
        pytest.param(changed(0, BEGIN.replace("online=1", "online=-1")), "is not a number", id="negative"),
        pytest.param(changed(0, BEGIN + " hi=8"), "duplicate key", id="double key"),
        pytest.param(changed(1, WORKER.replace("id=0", "id=1")), "expected worker 0", id="worker id"),
        pytest.param(changed(1, WORKER.replace("lo=2", "lo=02")), "is not a number", id="leading zero"),
        pytest.param(changed(1, WORKER.replace("0x00", "0x0")), "is not a number", id="short hex"),
        pytest.param(changed(1, WORKER.replace("lo=2", f"lo={2**64}")), "is not a number", id="65 bits"),
        pytest.param(
            changed(1, WORKER.replace("end=20", f"end={2**63}")), "is not below", id="time too large"
        ),
        pytest.param(changed(1, WORKER.replace("lo=2", "lo=na")), "is not a number", id="na value"),
        pytest.param(changed(2, WINDOW + " more=1"), "more fields", id="extra field"),
        pytest.param(changed(2, WINDOW.replace(" total_end=25", "")), "must begin with", id="missing field"),
        pytest.param(changed(3, "outcome count=4"), "unknown kind", id="unknown kind"),
        pytest.param(changed(3, "result count=4  x=1"), "single spaces", id="double space"),
        pytest.param(changed(3, "result count=$4"), "plain words", id="odd character"),
        pytest.param(changed(3, f"result count={'1' * 65}"), "plain words", id="long value"),
        pytest.param(
            changed(3, "result " + " ".join(f"k{n}=1" for n in range(99))), "bytes; at most", id="long"
        ),
        pytest.param(console(*LINES[:2], *LINES[3:]), "out of order: .* after worker", id="no window"),
        pytest.param(console(*LINES[:1], *LINES[2:]), "out of order: .* after begin", id="no worker"),
        pytest.param(console(*LINES[:4]), "out of order: .* after result", id="no foreign"),
        pytest.param(console(*LINES[:3], *LINES[2:]), "out of order: .* after window", id="two windows"),
        pytest.param(console(*LINES, LINES[0]), "out of order: .* after foreign", id="begin again"),
        pytest.param(GOOD + GOOD, "seq=0, expected 6", id="two transcripts"),
        pytest.param(
            GOOD.replace(b"@bench foreign", b"x@bench foreign"), "inside a line", id="not at the start"
        ),
        pytest.param(GOOD[:-1], "truncated", id="no last newline"),
        pytest.param(GOOD.replace(b"lines=5", b"lines=4"), "CRC does not match", id="end changed"),
        pytest.param(b"x" * (wire.MAX_CONSOLE_BYTES + 1), "are not read", id="huge"),
    ],
)
def test_an_invalid_transcript_is_refused_with_its_reason(text: bytes, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        wire.parse(text, nonce=NONCE)


def test_a_wrong_count_in_the_end_line_is_refused() -> None:
    framed = [wirekit.frame(line, seq) for seq, line in enumerate([*LINES, "end lines=6"])]
    with pytest.raises(WireError, match="lines=6, but there are 5 lines before it"):
        wire.parse(b"\n".join([*framed, b""]), nonce=NONCE)


def test_the_reason_names_the_line() -> None:
    with pytest.raises(WireError, match=r"console line 4 \(result\)"):
        wire.parse(changed(3, "result count=x"), nonce=NONCE)


def test_the_failure_line_is_safe_to_display() -> None:
    text = b"benchfail: \x1b[31mno memory\x1b[0m " + b"x" * 500 + b"\r\nlater\n"
    assert wire.failure_line(text).startswith("benchfail: \\x1b[31mno memory\\x1b[0m xxx")
    assert len(wire.failure_line(text)) == 160
    assert wire.failure_line(b"all is well: no benchfail: here\n") == ""


# ---- fuzzing


@given(st.binary(max_size=2000))
def test_any_bytes_end_in_a_wire_error(text: bytes) -> None:
    with pytest.raises(WireError):
        wire.parse(text, nonce=NONCE)


WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789=_-+.: @\r\t", max_size=40)
LINE = st.one_of(st.sampled_from(LINES), WORDS, st.builds("{} {}".format, st.sampled_from(LINES), WORDS))


@given(st.lists(LINE, max_size=8))
def test_valid_frames_in_any_order_are_complete_or_refused(lines: list[str]) -> None:
    try:
        said = wire.parse(console(*lines), nonce=NONCE)
    except WireError:
        return
    assert len(said.reports) == said.workers
    assert [line.split(" ")[0] for line in lines[:2]] == ["begin", "worker"]


@settings(max_examples=400)
@given(st.data())
def test_any_changed_byte_is_refused_or_was_log(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(PRIMES) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda byte: byte != PRIMES[at]))
    text = PRIMES[:at] + bytes([new]) + PRIMES[at + 1 :]
    try:
        said = wire.parse(text, nonce=NONCE)
    except WireError:
        return
    assert said == wire.parse(PRIMES, nonce=NONCE)
    line = PRIMES[PRIMES.rfind(b"\n", 0, at) + 1 : at + 1]
    # a CR before the newline may be lost; every other byte of a framed line is held by its CRC
    assert not line.startswith(b"@bench") or PRIMES[at : at + 2] == b"\r\n"


@settings(max_examples=300)
@given(st.integers(0, len(PRIMES)), st.integers(0, 400))
def test_a_removed_piece_is_refused_or_was_log(start: int, length: int) -> None:
    text = PRIMES[:start] + PRIMES[start + length :]
    try:
        assert wire.parse(text, nonce=NONCE) == wire.parse(PRIMES, nonce=NONCE)
    except WireError:
        return


@settings(max_examples=300)
@given(st.integers(0, len(PRIMES)), st.binary(min_size=1, max_size=60))
def test_an_insertion_is_refused_or_was_log(at: int, extra: bytes) -> None:
    try:
        said = wire.parse(PRIMES[:at] + extra + PRIMES[at:], nonce=NONCE)
    except WireError:
        return
    assert said == wire.parse(PRIMES, nonce=NONCE)
