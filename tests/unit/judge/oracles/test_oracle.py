"""An oracle answers, or its run is refused. It runs in a process of its own, so nothing that it does can end,
hang or change this one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import psutil
import pytest

from benchgate.base import cpu_limit
from benchgate.base.errors import OracleError, UsageError, VerifyError
from benchgate.base.runs import OracleRun, WorkerReport
from benchgate.base.statistics.histogram import Histogram
from benchgate.judge.oracles import oracle_process
from benchgate.judge.oracles.oracle import Oracles
from benchgate.judge.oracles.oracle_process import OracleLimits
from tests.machines import PATIENCE_S, wait_until

SAMPLES = Histogram(3, 261, 1, 130, {1: 1, 130: 2})
RUN = OracleRun(2, "cycles", 2_400_000_000, 10, 20, {"wakeup": (SAMPLES, Histogram(0, 0, 0, 0, {}))})
REPORT = WorkerReport(0, 1, 2, 3, 4, {"lo": 5, "big": 2**64 - 1})
HEAD = "import os, signal, sys, time\nfrom pathlib import Path\nfrom benchgate import VerifyError\n"


FORGED = """os.write(3, b'{"token": "1", "word": "right", "text": ""}\\n')"""


class Asked:
    """An oracle of the test's own and what it says of one run."""

    def __init__(self, folder: Path, oracles: Oracles) -> None:
        self.file = folder / "mine.py"
        self.oracles = oracles

    def write(self, *body: str) -> None:
        lines = "".join(f"    {line}\n" for line in body)
        self.file.write_text(f"{HEAD}def check(params, reports, result):\n{lines}")

    def says(self, *body: str) -> str:
        """Why it refuses the run; empty: it does not."""
        if body:
            self.write(*body)
        try:
            self.oracles.check(self.file, {"hi": 7, "split": "cost"}, [REPORT], {"sum": 8}, RUN)
        except VerifyError as error:
            return str(error)
        return ""


def oracle_processes() -> set[int]:
    """The children of this process that run an oracle; another test's may be among them."""
    children = psutil.Process().children()
    return {process.pid for process in children if "oracle_main" in " ".join(process.cmdline())}


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    before, made = oracle_processes(), Asked(tmp_path, Oracles())
    yield made
    made.oracles.close()
    assert oracle_processes() == before


@pytest.fixture
def hurried(asked: Asked) -> Asked:
    asked.oracles = Oracles(OracleLimits(cpu_s=0.5, waiting_s=2.0, memory_bytes=2**29))
    return asked


def test_it_gets_what_the_run_reported(asked: Asked) -> None:
    assert not asked.says(
        "assert params == {'hi': 7, 'split': 'cost'}",
        "(one,) = reports",
        "assert (one.id, one.cpu, one.cpu_end, one.start, one.end) == (0, 1, 2, 3, 4)",
        "assert one.values == {'lo': 5, 'big': 2**64 - 1}",
        "assert result == {'sum': 8}",
    )


def test_a_fourth_parameter_called_run_gets_clock_windows_and_histograms(asked: Asked) -> None:
    asked.file.write_text(
        f"{HEAD}from benchgate import Histogram, OracleRun\n"
        "def check(params, reports, result, run):\n"
        "    assert isinstance(run, OracleRun) and isinstance(run.histograms['wakeup'], Histogram)\n"
        "    assert (run.cpus, run.unit, run.hz) == (2, 'cycles', 2_400_000_000)\n"
        "    assert (run.work, run.total) == (10, 20)\n"
        "    mine, empty = run.by_worker['wakeup']\n"
        "    assert (mine.count, mine.sum, mine.min, mine.max) == (3, 261, 1, 130)\n"
        "    assert mine.buckets == {1: 1, 130: 2} and empty.count == 0\n"
        "    assert run.histograms['wakeup'] == mine\n"
        "    raise VerifyError(f\"p50 is {run.histograms['wakeup'].percentile(50):g}\")\n"
    )
    assert asked.says() == "p50 is 130"


@pytest.mark.parametrize("more", ["", ", cache=()", ", *others", ", *, strict=True"])
def test_an_oracle_without_run_is_asked_as_before(asked: Asked, more: str) -> None:
    body = "assert not locals().get('cache') and not locals().get('others')"
    asked.file.write_text(f"{HEAD}def check(params, reports, result{more}):\n    {body}\n")
    assert asked.says() == ""


def test_its_own_reason_is_the_reason_on_one_safe_line(asked: Asked) -> None:
    assert asked.says("raise VerifyError('worker 1 lies')") == "worker 1 lies"
    assert asked.says(r"raise VerifyError('a\x1b[2J\n::error ::b')") == r"a\x1b[2J \x3a:error \x3a:b"
    assert len(asked.says("raise VerifyError('long ' * 10**6)")) == 600
    assert asked.says("raise VerifyError") == "the oracle mine.py refused the answers and gave no reason"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return False", "returned False; it must return nothing, or raise VerifyError"),
        ("assert 0, 'so not'", "could not check the answers: AssertionError: so not"),
        ("sys.exit(0)", "could not check the answers: SystemExit: 0"),
        ("import pytest; pytest.exit('no', returncode=0)", "could not check the answers: Exit: no"),
        ("raise type('Odd', (BaseException,), {})('odd')", "could not check the answers: Odd: odd"),
        ("raise KeyboardInterrupt('me')", "could not check the answers: KeyboardInterrupt: me"),
        ("import pytest; pytest.skip('no')", "could not check the answers: Skipped: no"),
        ("from benchgate import BenchgateError; raise BenchgateError('x')", "answers: BenchgateError: x"),
        ("os._exit(0)", "gave no answer: its process ended (exit status 0)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "gave no answer: its process ended (signal SIGSEGV)"),
        ("os.closerange(0, 256)", "gave no answer: its process ended (exit status 1"),
        ("os.write(3, b'x' * 70_000)", "gave no answer: its process wrote more than 65536 bytes"),
        ("os.write(3, b'right\\n')", "gave no answer: its process wrote something else"),
        (f"{FORGED}; time.sleep(6000)", "gave no answer: its process answered another question"),
        ("""os.write(3, b'{"word": "right"}\\n'); time.sleep(6000)""", "the answer has no token"),
        ("if os.fork(): os._exit(0)\n    time.sleep(6000)", "its process ended (exit status 0)"),
        ("type('E', (Exception,), {'__str__': lambda self: 1 / 0})\n    raise type('E', (Exception,), "
         "{'__str__': lambda self: 1 / 0})", "could not check the answers: E, whose text cannot be shown"),
    ],
)  # fmt: skip
def test_anything_but_an_answer_refuses_the_run_and_not_the_next(
    asked: Asked, body: str, reason: str
) -> None:
    said = asked.says(body)
    assert said.startswith("the oracle mine.py ")
    assert reason in said
    assert asked.says("pass") == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "it defines no function check(params, reports, result)"),
        ("def check(:\n", "SyntaxError: invalid syntax (mine.py, line 1)"),
        ("import nosuch1\n", "ModuleNotFoundError: No module named 'nosuch1'"),
        ("import sys; sys.exit(0)\n", "SystemExit: 0"),
        ("import pytest; pytest.skip('no', allow_module_level=True)\n", "Skipped: no"),
    ],
)
def test_a_file_that_is_not_an_oracle_refuses_the_run(asked: Asked, text: str, reason: str) -> None:
    asked.file.write_text(text)
    said = asked.says()
    assert said.startswith("the oracle mine.py cannot be loaded: ")
    assert said.endswith(reason)


def test_a_missing_file_refuses_the_run(asked: Asked) -> None:
    assert asked.says() == f"there is no oracle file {asked.file}"


# ---- limits


def test_an_endless_loop_ends_at_the_limit_of_cpu_time(hurried: Asked) -> None:
    said = hurried.says("while True: pass")
    assert re.search(r"^the oracle mine\.py gave no answer: .* 0\.5 s of CPU time$", said)


def test_a_process_that_only_waits_ends_at_the_limit_of_waiting(hurried: Asked) -> None:
    said = hurried.says("time.sleep(10**6)")
    assert "it waited for more than 2 s" in said


def test_a_stopped_process_ends_at_the_limit_of_waiting(hurried: Asked) -> None:
    assert "waited for more than 2 s" in hurried.says("os.kill(os.getpid(), signal.SIGSTOP)")


def test_a_process_that_closes_its_channel_gives_no_answer(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle_process, "_END_S", 0.2)
    said = asked.says("os.close(3); time.sleep(10**6)")
    assert said.endswith("its process closed its answer channel")


@pytest.mark.parametrize("body", ["bytearray(2**40)", "x = []\n    while True: x.append(bytearray(2**20))"])
def test_a_huge_allocation_is_refused_to_the_oracle(hurried: Asked, body: str) -> None:
    hurried.oracles = Oracles(OracleLimits(memory_bytes=2**29))
    assert hurried.says(body) == "the oracle mine.py could not check the answers: MemoryError"


def test_its_cpu_time_counts_against_the_limit_of_the_caller(asked: Asked) -> None:
    with pytest.raises(cpu_limit.CpuLimitExceeded), cpu_limit.cpu_seconds(0.5):
        asked.says("while True: pass")


# ---- its process


def test_its_process_is_kept_for_the_next_run_until_the_file_changes(asked: Asked) -> None:
    asked.write("raise VerifyError(str(os.getpid()))")
    first = asked.says()
    assert asked.says() == first
    asked.write("raise VerifyError(str(os.getpid()) + ' again')")
    assert first not in asked.says()


def test_a_process_that_died_meanwhile_is_replaced(asked: Asked) -> None:
    asked.write("raise VerifyError(str(os.getpid()))")
    pid = int(asked.says())
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    assert int(asked.says()) != pid


def test_a_process_that_is_killed_while_it_judges_is_no_answer_and_another_is_asked(asked: Asked) -> None:
    asked.write(
        "told = Path(__file__).with_name('told')",
        "if not told.exists(): told.touch(); os.kill(os.getpid(), signal.SIGKILL)",
        "raise VerifyError('worker 1 lies')",
    )
    assert asked.says() == "worker 1 lies"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_process_that_is_killed_each_time_is_a_failure_of_the_oracle(asked: Asked, name: str) -> None:
    asked.write(
        "with Path(__file__).with_name('told').open('a') as told: told.write('x')",
        f"os.kill(os.getpid(), signal.{name})",
    )
    with pytest.raises(OracleError) as caught:
        asked.oracles.check(asked.file, {}, [REPORT], {}, RUN)
    assert re.search(rf"mine\.py gave no answer: .*\(signal {name}\), in each of 3 tries$", str(caught.value))
    assert asked.file.with_name("told").read_text() == "xxx"


@pytest.mark.parametrize(
    ("body", "of_the_oracle"),
    [
        ("while True: pass", True),
        ("time.sleep(10**6)", True),
        ("bytearray(2**40)", True),
        ("assert 0", False),
        ("return False", False),
        ("raise VerifyError('wrong')", False),
    ],
)
def test_what_may_be_the_machines_fault_is_told_from_what_is_not(
    hurried: Asked, body: str, of_the_oracle: bool
) -> None:
    hurried.write(body)
    with pytest.raises(VerifyError) as caught:
        hurried.oracles.check(hurried.file, {}, [REPORT], {}, RUN)
    assert isinstance(caught.value, OracleError) == of_the_oracle


def test_what_it_says_unasked_does_not_answer_the_next_question(asked: Asked, tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    asked.write(
        "import threading",
        "def late():",
        f"    while not Path({str(go)!r}).exists(): time.sleep(0.001)",
        f"    {FORGED}",
        f"    Path({str(done)!r}).touch()",
        f"if not Path({str(go)!r}).exists(): threading.Thread(target=late).start()",
        "raise VerifyError('seen')",
    )
    assert asked.says() == "seen"
    go.touch()
    assert wait_until(done.exists)
    assert asked.says() == "seen"


def test_only_one_of_two_processes_answers(asked: Asked) -> None:
    asked.write("child = os.fork()", "if child: os.waitpid(child, 0); raise VerifyError('parent')")
    assert [asked.says(), asked.says()] == ["parent", "parent"]


def test_a_child_of_the_oracle_ends_with_it(asked: Asked, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = (
        "child = os.fork()",
        "if not child: time.sleep(10**6)",
        f"Path({str(pid)!r}).write_text(str(child))",
    )
    assert asked.says(*body) == ""
    asked.oracles.close()
    child = int(pid.read_text())
    assert wait_until(
        lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    )


def test_it_gets_neither_our_environment_nor_our_terminal_nor_our_group(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_SECRET", "token")
    assert "token" not in asked.says("raise VerifyError(str(dict(os.environ)))")
    assert asked.says("raise VerifyError(','.join(os.readlink(f'/proc/self/fd/{n}') for n in range(3)))") == (
        "/dev/null,/dev/null,/dev/null"
    )
    assert asked.says("raise VerifyError(str(os.getpgrp() == os.getpid()))") == "True"
    assert asked.says("raise VerifyError(Path('/proc/self/oom_score_adj').read_text())") == "1000"


def test_an_interrupt_of_this_process_ends_the_oracle_and_passes(asked: Asked) -> None:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            asked.says("os.kill(os.getppid(), signal.SIGUSR1)", "time.sleep(10**6)")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert asked.says("pass") == ""


def test_it_dies_with_this_process(asked: Asked, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    asked.write(f"Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(10**6)")
    code = (
        "import sys; from pathlib import Path; from benchgate.judge.oracles.oracle import ORACLES; "
        "from benchgate.judge.oracles.answers import OracleRun\n"
        f"ORACLES.check(Path({str(asked.file)!r}), {{}}, [], {{}}, OracleRun(1, 'ns', None, 1, 1, {{}}))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert wait_until(lambda: pid.exists() and pid.read_text() != "")
    finally:
        parent.kill()
        parent.wait(timeout=PATIENCE_S)
    oracle = int(pid.read_text())
    assert wait_until(
        lambda: not psutil.pid_exists(oracle) or psutil.Process(oracle).status() == psutil.STATUS_ZOMBIE
    )


def test_an_import_of_the_oracles_libraries_is_paid_once(asked: Asked) -> None:
    """Not a time, but what it stands for: the module is executed once for all runs."""
    log = asked.file.with_name("log")
    asked.file.write_text(f"open({str(log)!r}, 'a').write('x')\ndef check(*_):\n    pass\n")
    for _ in range(3):
        assert asked.says() == ""
    assert log.read_text() == "x"


def loaded(asked: Asked, text: str) -> str:
    """Why a session with this oracle is refused; empty: it is not."""
    asked.file.write_text(text)
    try:
        asked.oracles.load(asked.file)
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("import os\n\nimport nosuch\n", 3, "ModuleNotFoundError: No module named 'nosuch'"),
        ("import os\ndef check(:\n", 2, "SyntaxError: invalid syntax"),
        ("def chekc(params, reports, result): pass\n", 1, "TypeError: it defines no function check("),
        ("check = 3\n", 1, "TypeError: it defines no function check("),
        ("\n\ndef f(): 1 / 0\n\nf()\n", 3, "ZeroDivisionError: division by zero"),
        ("def check(params): pass\n", 1, "TypeError: check does not take (params, reports, result): "),
        ("def check(params, reports, result, *, must): pass\n", 1, "TypeError: check does not take ("),
    ],
)
def test_an_oracle_that_cannot_be_loaded_is_refused_with_its_line(
    asked: Asked, text: str, line: int, why: str
) -> None:
    assert f"{asked.file}:{line}: {why}" in loaded(asked, text)


def test_a_line_of_another_file_is_that_of_the_import(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("\n\n\n\nimport nosuch\n")
    head = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
    assert f"{asked.file}:3: ModuleNotFoundError" in loaded(asked, f"{head}import helper\n")
    (tmp_path / "helper.py").write_text("\n\n\n\ndef f(:\n")
    assert f"{asked.file}:3: SyntaxError" in loaded(asked, f"{head}import helper\n")


@pytest.mark.parametrize("more", ["", ", run", ", cache=()", ", *others", ", *, run"])
def test_an_oracle_that_can_be_loaded_is_not_run(asked: Asked, tmp_path: Path, more: str) -> None:
    text = f"def check(params, reports, result{more}):\n    open({str(tmp_path / 'ran')!r}, 'w')\n"
    assert loaded(asked, text) == ""
    assert not (tmp_path / "ran").exists()
    assert asked.says() == ""
    assert (tmp_path / "ran").exists()


def test_a_missing_oracle_is_refused(asked: Asked) -> None:
    with pytest.raises(UsageError, match="there is no oracle file"):
        asked.oracles.load(asked.file)


def test_the_end_of_its_process_is_left_to_the_runs(asked: Asked) -> None:
    """The host can have ended it: only runs are judged by it."""
    assert loaded(asked, "import os\nos._exit(0)\n") == ""
