"""Reading the measuring program, with programs that do each wrong thing in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import HostError
from benchgate.base.process import start_time
from contrib.calibration.meter import MeterSample, measure, read


def shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def test_samples_are_handed_on_as_they_come() -> None:
    seen: list[MeterSample] = []
    samples = measure([], seen.append, argv=shell("echo 'chase 4096 1.2500'; echo 'cycle 0.2500'"))
    assert samples == tuple(seen) == (MeterSample("chase", 4096, 1.25), MeterSample("cycle", 0, 0.25))


def test_the_words_are_arguments() -> None:
    (sample,) = measure(["pair", 3], argv=(*shell('echo "$0 $1.0000"'),))
    assert sample == MeterSample("pair", 0, 3.0)


@pytest.mark.parametrize(
    "line", ["", "chase", "chase 1", "chase 4096 1.25", "chase -1 1.0000", "x 1e5", "a b c 1.0000"]
)
def test_a_line_that_is_no_sample_is_refused(line: str) -> None:
    with pytest.raises(HostError, match="which is not a sample"):
        read(line)


def test_a_program_that_fails_says_why() -> None:
    script = "echo 'cycle 0.2500'; echo 'cannot run on this CPU: Invalid argument' >&2; exit 1"
    with pytest.raises(
        HostError, match=r"cannot measure this host's memory: cannot run on this CPU: Invalid arg"
    ):
        measure([], argv=shell(script))


def test_a_program_that_is_killed_says_so() -> None:
    with pytest.raises(HostError, match=r"cannot measure this host's memory: status -9"):
        measure([], argv=shell("kill -9 $$"))


def test_a_program_that_ends_in_the_middle_of_a_line() -> None:
    with pytest.raises(HostError, match="in the middle of a line"):
        measure([], argv=shell("printf 'cycle 0.25'"))


def test_a_program_does_not_outlive_its_reader(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def seen(_: MeterSample) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure([], seen, argv=shell(f"echo $$ > {pid}; echo 'cycle 0.2500'; exec sleep 1000"))
    assert start_time(int(pid.read_text())) is None


def test_a_silent_program_is_ended() -> None:
    with pytest.raises(HostError, match=r"printed nothing for 0.2 s"):
        measure([], argv=shell("sleep 100"), silent_s=0.2)
