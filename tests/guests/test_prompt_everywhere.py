"""A kernel that is asked at its prompt, on each architecture: its answers are right, and on the instruction
clock the whole conversation repeats bit for bit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import ARCHITECTURES, X86_64, Architecture
from benchgate.base.workload.metrics import WINDOWS
from benchgate.build.fetch import inputs
from benchgate.insn.log_reader import read_log
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.samples import measurement
from tests.kernelkit import talker
from tests.promptkit import FIGURE, INSN, LINES, PRIMES, SHORT, WALL, Booter, speedup

INPUTS = pytest.mark.parametrize("words", ["lie=none", "input=poll"])


@pytest.fixture(scope="module", params=ARCHITECTURES.values(), ids=str)
def guest(request: pytest.FixtureRequest) -> Architecture:
    architecture: Architecture = request.param
    return architecture


@pytest.fixture(scope="module")
def kernel(guest: Architecture, tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        inputs.qemu(guest=guest)
        return talker(tmp_path_factory.mktemp("talker"), guest)
    except FetchError as error:
        if guest is X86_64:
            raise
        pytest.skip(f"no QEMU or compiler for {guest}: {error}")


def recorded(judged: JudgedRun) -> tuple[object, ...]:
    """All that a run on the instruction clock must repeat."""
    assert judged.verified is not None, judged.reason
    assert judged.run.clock_log is not None
    said = (judged.run.folder / "conversation.json").read_bytes()
    console = (judged.run.folder / "serial.log").read_bytes()
    return judged.verified.work, said, console, read_log(judged.run.clock_log).repeatable


@pytest.mark.parametrize(("words", "cpus"), [("lie=none", 4), ("input=poll", 1)])
def test_a_conversation_repeats_bit_for_bit(
    guest: Architecture, kernel: Path, tmp_path: Path, words: str, cpus: int
) -> None:
    first, second = (tmp_path / name for name in ("first", "second"))
    runs = []
    for folder in (first, second):
        folder.mkdir()
        runs.append(recorded(Booter(folder, kernel, INSN, guest).boot(words, cpus=cpus)))
    assert runs[0] == runs[1]


def test_what_was_typed_before_the_window_does_not_blur_it(
    guest: Architecture, kernel: Path, tmp_path: Path
) -> None:
    """Its CPUs wait for each other in each command. The window is that of the last one."""
    before, late, whole = "  - {send: 'primes {workers} 6462'}\n", [], 0.0
    for times in (0, 30):
        folder = tmp_path / str(times)
        folder.mkdir()
        steps, window = before * times + PRIMES, 'from: typed, to: "^primes: hi=6463 "'
        judged = Booter(folder, kernel, INSN, guest).boot("lie=none", steps, hi=6463, cpus=4, window=window)
        assert judged.verified is not None, judged.reason
        assert judged.run.clock_log is not None
        late += list(measurement([judged.verified], WINDOWS["work"]).blur)
        whole = read_log(judged.run.clock_log).checks["late"] / judged.verified.work
    assert whole > 0.3, "in both runs little was late"
    assert max(late) < 0.1


@INPUTS
def test_on_wall_time_its_answers_are_right(
    guest: Architecture, kernel: Path, tmp_path: Path, words: str
) -> None:
    judged = Booter(tmp_path, kernel, WALL, guest).boot(words)
    assert judged.verified is not None, judged.reason


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("truncates", "wrong answer: hi is 5000, expected 50000"),
        ("one-cpu", "executed only 0 instructions of work"),
        ("reset-after", "guest-reset"),
    ],
)
def test_a_lie_is_refused(guest: Architecture, kernel: Path, tmp_path: Path, case: str, said: str) -> None:
    judged = Booter(tmp_path, kernel, INSN, guest).boot(f"lie={case}")
    assert judged.verified is None
    assert said in judged.reason


@pytest.mark.parametrize(("words", "work", "cpus"), [("lie=none", FIGURE, 4), ("input=poll", LINES, 2)])
def test_an_honest_speedup_passes(
    guest: Architecture, kernel: Path, tmp_path: Path, words: str, *, work: str, cpus: int
) -> None:
    verdict = speedup(tmp_path, kernel, words, work, cpus=cpus, guest=guest)
    assert verdict.outcome == "PASS", verdict.reason


SLOWLY = 1000
"""us from one typed byte to the next: the line takes as long as a good part of the work."""


def test_idle_cpus_that_poll_are_not_at_work(guest: Architecture, kernel: Path, tmp_path: Path) -> None:
    """None of its CPUs is ever halted: they take the locks of a table, as xv6 does. While the line is typed,
    four of them execute four times what one does, which is no work."""
    verdict = speedup(tmp_path, kernel, "idle=scan", LINES, cpus=4, guest=guest, pace_us=SLOWLY)
    assert verdict.outcome == "PASS", verdict.reason
    assert verdict.ratio is not None
    assert 3 < verdict.ratio < 4


@pytest.mark.parametrize("case", ["idle-work", "idle-always"])
def test_a_cpu_that_works_in_its_idle_loop_is_at_work(
    guest: Architecture, kernel: Path, tmp_path: Path, case: str
) -> None:
    """CPU 1 does half of the work while the line is typed, and then looks busy. No CPU executes more than
    with one CPU, where CPU 0 polls meanwhile. With `idle-always` the loop at the silent prompt has that
    code, too."""
    words = f"idle=scan lie={case} knows={SHORT}"
    verdict = speedup(tmp_path, kernel, words, LINES, guest=guest, pace_us=SLOWLY)
    assert verdict.outcome == "INVALID", verdict.reason
    assert "outside of its window" in verdict.reason
