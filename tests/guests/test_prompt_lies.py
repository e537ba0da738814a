"""Kernels that misreport or have an accident at their prompt: each is refused on both clocks by a sentence
that names it. Real boots of the kernel in tests/data/kernels/talker, judged as in a session.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kernelkit import talker
from tests.promptkit import (
    CAPTURE,
    FIGURE,
    INSN,
    LINES,
    LONG,
    PRIMES,
    WALL,
    Booter,
    check_idle_cpu,
    speedup,
)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talker(tmp_path_factory.mktemp("talker"))


@pytest.fixture(params=[INSN, WALL], ids=["insn", "wall"])
def booter(request: pytest.FixtureRequest, tmp_path: Path, kernel: Path) -> Booter:
    return Booter(tmp_path, kernel, request.param)


@pytest.mark.parametrize("words", ["lie=none", "input=poll", "lines=crlf"])
def test_the_honest_kernel_is_verified(booter: Booter, words: str) -> None:
    judged = booter.boot(words)
    assert judged.verified is not None, judged.reason


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("false-prompt", "the guest echoed ``: input was lost or changed, or the prompt"),
        ("late-log", "the guest echoed `talker: a driver is late`: input was lost or changed"),
        ("drops", "the guest echoed `prmes "),
        ("garbles", "the guest echoed `prhmes "),
        ("truncates", "wrong answer: hi is 5000, expected 50000"),
        ("mute", "it prompts again, and nothing before that matches `^primes: hi="),
        ("background", "it prompts again, and nothing before that matches `^primes: hi="),
        ("panic-off", "QEMU reports that the guest ended itself: guest-shutdown"),
        ("panic-after", "QEMU reports that the guest ended itself: guest-shutdown"),
        ("reset-after", "QEMU reports that the guest ended itself: guest-reset"),
        ("reboots", "QEMU reports that the guest ended itself: guest-reset"),
        ("dots", "bytes it printed nothing but"),
        ("babble", "bytes it printed nothing but"),
        ("counts", "more than 1048576 bytes of output after its result, and not its end (step 1, "),
        ("twice", "work: `^primes: took (?P<value>[0-9]+) ns$` matches more than once"),
        ("overwrites", "work: `^primes: took (?P<value>[0-9]+) ns$` matches more than once"),
    ],
)
def test_an_accident_is_named(booter: Booter, case: str, said: str) -> None:
    judged = booter.boot(f"lie={case}")
    assert judged.verified is None
    assert said in judged.reason


STILL = "is not the last thing on the console, and its time"
MORE = "is not the last thing on the console: more follows it in the line `$ talker: a driver"


@pytest.mark.parametrize(
    ("clock", "case", "said"),
    [
        (INSN, "prompt-not-last", MORE),
        (WALL, "prompt-not-last", MORE),
        (INSN, "endless", STILL),
        (WALL, "stuck", STILL),  # one that computes costs all of the time on wall time
    ],
    ids=["insn-not-last", "wall-not-last", "insn-endless", "wall-stuck"],
)
def test_a_prompt_that_never_comes_is_named(
    tmp_path: Path, kernel: Path, clock: bool, case: str, said: str
) -> None:
    judged = Booter(tmp_path, kernel, clock).boot(f"lie={case}", hasty=True)
    assert judged.verified is None
    assert said in judged.reason


def test_the_answer_of_an_earlier_command_is_none(booter: Booter) -> None:
    judged = booter.boot("lie=stale", "  - {send: 'primes 1 100'}\n" + PRIMES)
    assert judged.verified is None
    assert "wrong answer: hi is 100, expected 50000" in judged.reason


def test_the_echo_of_a_command_is_no_answer(booter: Booter) -> None:
    """All that is wanted stands in the line that is typed, and the guest prints it back."""
    send = "primes: hi=HI workers=2 count=COUNT sum=SUM"
    judged = booter.boot("lie=mute", f"  - {{send: '{send}', capture: '{CAPTURE.strip('^$')}'}}\n")
    assert judged.verified is None
    assert "it prompts again, and nothing before that matches" in judged.reason


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("one-cpu", "vCPU 1 executed only "),
        ("constant", r"work: the guest claims 25000000 ns, but on the instruction clock \d+ ns passed"),
        ("short", r"work: the guest claims \d+ ns, but on the instruction clock \d+ ns passed"),
    ],
)
def test_the_instruction_clock_refuses_a_figure_that_the_machine_did_not_earn(
    tmp_path: Path, kernel: Path, case: str, said: str
) -> None:
    judged = Booter(tmp_path, kernel, INSN).boot(f"lie={case}")
    assert judged.verified is None
    assert re.search(said, judged.reason), judged.reason


@pytest.mark.parametrize("case", ["one-cpu", "constant"])
def test_on_wall_time_a_cpu_that_did_not_run_is_named(tmp_path: Path, kernel: Path, case: str) -> None:
    check_idle_cpu(Booter(tmp_path, kernel, WALL).boot(f"lie={case}", hi=LONG))


@pytest.mark.parametrize("work", [FIGURE, LINES], ids=["figure", "lines"])
@pytest.mark.parametrize("case", ["head-start", "late-half"])
def test_work_outside_of_the_window_makes_no_speedup(
    tmp_path: Path, kernel: Path, case: str, work: str
) -> None:
    """Half of the work at two CPUs is before or after the window, in which the second CPU only looks busy."""
    verdict = speedup(tmp_path, kernel, f"lie={case}", work)
    assert verdict.ratio is not None
    assert 1.9 < verdict.ratio < 2.02
    assert verdict.outcome == "INVALID"
    said = r"outside of its window, .* its busiest CPU executed \d{7,8} instructions at smp2 and \d{4,6} at"
    assert re.search(said, verdict.reason), verdict.reason
