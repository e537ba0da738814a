"""The runs of one part: what counts, what its score is, and what makes the whole mix invalid, by name."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.features.mix.guest.mix_lines import MixTranscript, parse
from benchgate.features.mix.guest.mix_part import MixPart, verify_part
from benchgate.features.mix.guest.mix_runs import Part, PartLimits, PartRun
from benchgate.features.mix.tests.mixkit import (
    OPENED,
    STOPPED,
    Ran,
    good_runs,
    mix_console,
    part,
    part_lines,
    rascal,
    transcript,
)
from tests.wirekit import NONCE

LENGTH = Metric("length", MetricKind.TIME, MetricDirection.MORE, "ns")


def seen(runs: list[Ran], **changes: object) -> MixTranscript:
    return parse(mix_console([part_lines(0, "program", **changes)], runs), nonce=NONCE)


def judged(runs: list[Ran], of: Part | None = None, **changes: object) -> PartRun:
    mix_transcript = seen(runs, **changes)
    placed = MixPart(of or part("well#1"), 0, NONCE, 2, OPENED, STOPPED)
    return verify_part(placed, mix_transcript.parts[0], mix_transcript.runs)


def refused(runs: list[Ran], of: Part | None = None, **changes: object) -> str:
    with pytest.raises(VerifyError) as error:
        judged(runs, of, **changes)
    assert str(error.value).startswith("part well#1: ")
    return str(error.value).removeprefix("part well#1: ")


class TestAGoodPart:
    def test_its_score_is_runs_per_second_from_the_first_end_to_the_last(self) -> None:
        """Two runs in 2 ms; the rest of the window does not count."""
        run = judged(good_runs(count=3))
        assert run.score == Fraction(2 * 10**9, 2_000_000)
        assert (run.runs, run.run_ns, run.starved) == (3, (1_000_000,) * 3, "")

    @pytest.mark.parametrize("longer", [0, 1_000_000, 9_000_000])
    def test_how_long_its_first_run_takes_is_not_in_its_score(self, longer: int) -> None:
        later = OPENED + 10_000 + 1_000_000 + longer
        again = [Ran(0, n, later + n * 10**6, transcript(0, n, later + n * 10**6)) for n in (1, 2)]
        cold = replace(good_runs(count=1)[0], length=2_000_000 + longer)
        run = judged([cold, *again])
        assert run.score == 1000
        assert run.run_ns[0] == 2_000_000 + longer

    def test_nor_is_the_metric_of_its_first_run(self) -> None:
        workload = replace(rascal(), metrics={"length": LENGTH})
        scored = replace(part("well#1"), workload=workload, score="length")
        runs = [
            replace(ran, text=transcript(0, ran.number, ran.start, length=length))
            for ran, length in zip(good_runs(count=3), (900_000, 500_000, 700_000), strict=True)
        ]
        run = judged(runs, scored)
        assert run.metrics["length"] == (900_000.0, 500_000.0, 700_000.0)
        assert run.score == 600_000

    def test_its_use_is_what_was_counted(self) -> None:
        run = judged(good_runs(), cpu_ns=77, network_bytes="na")
        assert run.use["cpu_ns"] == 77
        assert run.use["network_bytes"] is None

    def test_a_dummy_has_no_runs(self) -> None:
        run = judged([], Part("dummy#1", None))
        assert not run.score
        assert not run.runs


class TestEarlyEnds:
    def test_a_run_that_fails_is_named_with_what_it_printed(self) -> None:
        bad = Ran(0, 1, good_runs()[1].start, b"benchfail: no memory for the job\n", exit=1)
        said = refused([good_runs()[0], bad])
        assert re.search("^it ended early: run 1 .*status 1; .*`benchfail: no memory for the job`$", said)

    def test_a_signal_is_named(self) -> None:
        assert "run 0 ended with signal 9; it printed nothing" in refused([Ran(0, 0, OPENED, b"", exit=137)])

    def test_a_part_that_completes_nothing(self) -> None:
        assert "it completed no run in 60 ms" in refused([])

    def test_a_part_that_completes_its_cold_run_only(self) -> None:
        assert re.search("first run only, .* in 60 ms", refused(good_runs(count=1)))

    def test_one_that_is_killed_after_its_cold_run_has_no_score(self) -> None:
        limited = replace(part("well#1"), limits=PartLimits(memory_bytes=1 << 20))
        killed = Ran(0, 1, good_runs()[1].start, b"", exit=137)
        run = judged([*good_runs(count=1), killed], limited, oom_kills=1)
        assert (run.starved, run.runs) == ("memory", 1)
        assert not run.score

    def test_one_that_its_limit_of_memory_killed_is_starved_and_has_no_score(self) -> None:
        limited = replace(part("well#1"), limits=PartLimits(memory_bytes=1 << 20))
        run = judged([Ran(0, 0, OPENED, b"", exit=137)], limited, oom_kills=1)
        assert (run.starved, run.runs) == ("memory", 0)
        assert not run.score

    def test_without_such_a_limit_it_is_an_error(self) -> None:
        assert "ended early" in refused([Ran(0, 0, OPENED, b"", exit=137)], oom_kills=1)


class TestLies:
    def test_garbage(self) -> None:
        assert "run 0: the console has no @bench line" in refused([Ran(0, 0, OPENED, b"\x00rubbish\n")])

    def test_the_transcript_of_another_part(self) -> None:
        forged = [
            replace(good_run, text=transcript(1, good_run.number, good_run.start)) for good_run in good_runs()
        ]
        assert "run 0: console line 1 (begin): nonce deadbeef01.p1.r0 is not this run's" in refused(forged)

    def test_the_transcript_of_an_earlier_run(self) -> None:
        first, second = good_runs()
        assert "run 1: console line 1 (begin): nonce deadbeef01.p0.r0" in refused(
            [first, replace(second, text=first.text)]
        )

    def test_a_wrong_answer(self) -> None:
        assert "run 0: worker 0 turned to another number" in refused(good_runs(value=4711))

    def test_another_parameter(self) -> None:
        assert "requested parameter does well, but the guest reports wrong" in refused(
            good_runs(does="wrong")
        )

    def test_a_cpu_that_is_not_its_own(self) -> None:
        pinned = replace(part("well#1"), cpus=(1,))
        assert "the CPUs of its part were 1" in refused(good_runs(online=1), pinned)

    def test_more_cpus_than_its_own(self) -> None:
        pinned = replace(part("well#1"), cpus=(1,))
        assert "1 CPUs were requested, but 2 came up" in refused(good_runs(cpu=1), pinned)

    def test_a_window_that_is_not_inside_its_run(self) -> None:
        moved = [replace(good_run, start=good_run.start + 2000, length=998_000) for good_run in good_runs()]
        assert "its window is not between its start and its end" in refused(moved)

    def test_a_run_that_is_left_out(self) -> None:
        assert "run 1 is missing" in refused(
            [good_run for good_run in good_runs(count=3) if good_run.number != 1]
        )

    def test_a_run_after_the_stop(self) -> None:
        late = STOPPED - 500_000
        assert "run 0 is missing, or is not inside the window" in refused(
            [Ran(0, 0, late, transcript(0, 0, late))]
        )

    def test_output_that_is_cut(self) -> None:
        mix_transcript = seen(good_runs(count=1))
        cut = replace(mix_transcript.runs[0], text=mix_transcript.runs[0].text[:-1])
        with pytest.raises(VerifyError, match=r"run 0 printed [0-9]+ bytes, but [0-9]+ were reported"):
            verify_part(MixPart(part("well#1"), 0, NONCE, 2, OPENED, STOPPED), mix_transcript.parts[0], [cut])

    def test_a_dummy_that_runs(self) -> None:
        with pytest.raises(VerifyError, match=r"part dummy#1: it is a dummy, but ran a program"):
            judged(good_runs(), Part("dummy#1", None))
