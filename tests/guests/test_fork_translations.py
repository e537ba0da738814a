"""Forks execute what their template translated only where they would have translated the same themselves."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.runs import BootSpec, Ending
from benchgate.insn.log_reader import read_log
from benchgate.insn.plugin import INLINE_API, build
from benchgate.run.attempt import execute
from benchgate.run.forked import Fork
from benchgate.run.record import clock_log
from benchgate.run.templates import Templates, plugin_word
from tests.guests.test_forks import (
    compared,
    forks,
    kernel,
    lines,
    nonce,
    rehearsed,
    request_of,
    require_equal,
    run,
)
from tests.guests.test_warm_starts import Bench, made
from tests.line.sessions import REPO

__all__ = ["forks", "kernel"]

Change = Callable[[BootSpec], BootSpec]
FIELDS = range(1, 12)
"""The places in c/forks/layout.h before which a test can put what QEMU does not have."""
LOOP = r"""// Waits for some time, by a loop of two blocks: QEMU ends one at each read of the clock.
// Runs with an even nonce come to the second block first.
static void wait_in_a_loop(void) {
    const char *nonce = bench_param("nonce");
    uint32_t begin = 0, odd = (uint32_t)nonce[15] & 1;
    __asm__ volatile("rdtsc\n\tmov %%eax, %0" : "=r"(begin) : : "eax", "edx");
    __asm__ volatile("mov %0, %%eax\n\t"
                     "test %1, %1\n\t"
                     "jz 2f\n"
                     "1: rdtsc\n"
                     "2: sub %0, %%eax\n\t"
                     "cmp $3000000, %%eax\n\t"
                     "jb 1b"
                     : : "r"(begin), "r"(odd) : "eax", "edx", "cc");
}

static const char *prepare(struct bench_job *job) {
    wait_in_a_loop();
"""


def changed(bench: Bench, folder: Path, seed: int, change: Change, fork: Fork | None) -> None:
    request = request_of(bench, folder, seed)
    assert execute(replace(request, spec=change(request.spec)), fork=fork).ending is Ending.DONE


def is_proven(folder: Path) -> bool:
    return read_log(clock_log(folder)).host["layout_proven"] == 1


def with_flag(flag: str) -> Change:
    """The plugin is built with a flag more."""

    def change(spec: BootSpec) -> BootSpec:
        shipped, ours = plugin_word(spec.argv)[1].partition(",")[0], str(build(INLINE_API, flag))
        environment = {name: value.replace(shipped, ours) for name, value in spec.environment.items()}
        argv = tuple(word.replace(shipped, ours) for word in spec.argv)
        assert argv != spec.argv
        assert environment != spec.environment
        return replace(spec, argv=argv, environment=environment)

    return change


@pytest.mark.parametrize("field", [4, 9, *(pytest.param(n, marks=pytest.mark.long) for n in FIELDS)])
def test_structures_that_are_laid_out_otherwise_are_not_written(
    field: int, kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    wrong = with_flag(f"-DLAYOUT_WRONG={field}")
    for seed in (1, 2):
        run(kernel, tmp_path / f"alone{seed}", seed)
        for name in ("first", "forked"):
            changed(kernel, tmp_path / f"{name}{seed}", seed, wrong, forks.fork)
        forked = tmp_path / f"forked{seed}"
        require_equal(tmp_path / f"alone{seed}", forked)
        assert not is_proven(forked)
        assert rehearsed(forked)[0] == 0
        assert rehearsed(forked)[1] > 500


def test_structures_that_are_laid_out_as_expected_are_proven(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    run(kernel, tmp_path / "run", 1, forks.fork)
    assert is_proven(tmp_path / "run")


def test_a_fork_that_came_to_a_loop_in_another_way_translates_it_itself(
    tmp_path: Path, forks: Templates
) -> None:
    """Whether a loop only waits is judged from the blocks that were translated before."""
    workload = shutil.copytree(REPO / "guest/workloads/primes", tmp_path / "primes")
    source = workload / "primes.c"
    begin = "static const char *prepare(struct bench_job *job) {\n"
    text = source.read_text()
    assert text.count(begin) == 1
    source.write_text(text.replace(begin, LOOP))
    bench = made("ideal", "kernel", workload_word=str(workload))
    compared(bench, tmp_path, forks, (1, 2, 3, 4))
    assert nonce(1)[-1] == "1"  # odd
    assert rehearsed(tmp_path / "forked2")[0] > 500
    assert len(lines(tmp_path / "forked2")) > 40


def with_buffer(mib: int, *flags: str) -> Change:
    """QEMU has so much memory for translated code, of which each CPU has a part."""

    def change(spec: BootSpec) -> BootSpec:
        at = spec.argv.index("tcg,thread=multi")
        argv = (*spec.argv[:at], f"tcg,thread=multi,tb-size={mib}", *spec.argv[at + 1 :])
        spec = replace(spec, argv=argv)
        return with_flag(*flags)(spec) if flags else spec

    return change


REHEARSED_ALL_THE_SAME = "-DREHEARSAL_AMPLE=1"


@pytest.mark.parametrize("word", ["kernel", pytest.param("linux", marks=pytest.mark.long)])
def test_with_little_memory_for_translated_code_nothing_is_rehearsed(
    word: str, tmp_path: Path, forks: Templates
) -> None:
    """Linux uses it up several times in a run."""
    bench = made("ideal", word)
    for seed in (1, 2):
        for name, fork in (("alone", None), ("forked", forks.fork)):
            changed(bench, tmp_path / f"{name}{seed}", seed, with_buffer(1), fork)
        require_equal(tmp_path / f"alone{seed}", tmp_path / f"forked{seed}")
        assert rehearsed(tmp_path / f"forked{seed}")[0] == 0


def test_a_template_leaves_half_of_that_memory_to_its_forks(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    """QEMU's translator leaves by a long jump where there is none, and a template could not catch that."""
    for seed in (1, 2, 3):
        taken = with_buffer(2, REHEARSED_ALL_THE_SAME)
        run(kernel, tmp_path / f"alone{seed}", seed)
        changed(kernel, tmp_path / f"forked{seed}", seed, taken, forks.fork)
        require_equal(tmp_path / f"alone{seed}", tmp_path / f"forked{seed}")
    had, needed = rehearsed(tmp_path / "forked3")
    assert 50 < had < needed / 2


def test_a_fork_that_uses_that_memory_up_after_a_rehearsal_is_no_run(
    kernel: Bench, tmp_path: Path, forks: Templates
) -> None:
    """When it is used up digits depend on, and a rehearsal uses some."""
    taken = with_buffer(1, REHEARSED_ALL_THE_SAME)
    changed(kernel, tmp_path / "first", 1, taken, forks.fork)
    request = request_of(kernel, tmp_path / "refused", 2)
    raw = execute(replace(request, spec=taken(request.spec)), fork=forks.fork)
    assert raw.ending is not Ending.DONE
    assert "QEMU's memory for translated code is used up" in clock_log(tmp_path / "refused").read_text()
