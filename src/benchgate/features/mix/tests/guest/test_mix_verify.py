"""A run of a mix, judged from its folder."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import Ending
from benchgate.features.mix.guest.mix_runs import Mix, PartLimits
from benchgate.features.mix.guest.mix_verify import HostMemory, host_memory, verify_mix
from benchgate.features.mix.tests.mixkit import (
    Ran,
    changed,
    good_console,
    good_runs,
    mix_console,
    part,
    part_lines,
    raw_run,
    transcript,
    two_parts,
)
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from benchgate.run.thread_use import MemoryRecord
from tests.unit import factories
from tests.wirekit import guest_argv, write_argv

DUMMY = part_lines(1, "dummy", runs=0)


def refused(folder: Path, text: bytes, mix: Mix | None = None) -> str:
    mix = mix or two_parts()
    with pytest.raises(VerifyError) as error:
        verify_mix(raw_run(folder, mix, text), mix)
    return str(error.value)


def test_a_good_run(tmp_path: Path) -> None:
    mix = two_parts()
    run = verify_mix(raw_run(tmp_path, mix, good_console()), mix)
    assert (run.window_ns, run.cpus, run.foreign_ns, run.ended) == (60_000_000, 2, 12345, "least")
    assert [run.name for run in run.parts] == ["well#1", "dummy#1"]
    assert [run.runs for run in run.parts] == [2, 0]
    assert run.memory_bytes == 500_000_000


def test_a_kernel_with_a_conductor_of_its_own(tmp_path: Path) -> None:
    """Its programs say its name, and count cycles: here two in a nanosecond."""
    mix = replace(two_parts(), system=catalog.load_system("kernel"))
    lines = [part_lines(0, disk_read_bytes="na", oom_kills="na", why="device"), DUMMY]
    runs = good_runs(system="tern", ghz=2)
    run = verify_mix(raw_run(tmp_path / "a", mix, mix_console(lines, runs, system="tern")), mix)
    assert [run.runs for run in run.parts] == [2, 0]
    assert run.missing["disk_read_bytes"] == "part well#1: this kernel has no such device"
    late = [
        replace(run, text=transcript(0, run.number, run.start + 10**9, system="tern", ghz=2)) for run in runs
    ]
    assert "its window is not between" in refused(
        tmp_path / "b", mix_console(lines, late, system="tern"), mix
    )
    assert "reports system native" in refused(
        tmp_path / "c", mix_console(lines, good_runs(), system="tern"), mix
    )


def test_on_wall_time_nothing_is_known_of_caches_and_that_is_said(tmp_path: Path) -> None:
    mix = two_parts()
    run = verify_mix(raw_run(tmp_path, mix, good_console()), mix)
    assert set(run.use.values()) == {None}
    assert "an emulated CPU has no caches" in run.missing["cache_bytes"]


def test_under_kvm_a_host_that_counts_says_what_was_used(tmp_path: Path) -> None:
    mix = two_parts()
    run = replace(raw_run(tmp_path, mix, good_console()), lane=Lane.KVM)
    write_argv(tmp_path, guest_argv(mix.cpus, accel="kvm"))
    assert "nothing in this guest counts" in verify_mix(run, mix).missing["cache_bytes"]
    sample = {"held_bytes": 4096, "moved_bytes": 0}
    samples = [
        {"moment": "ready", "time_ns": 0, **sample},
        {"moment": "end", "time_ns": 120_000_000, **sample, "moved_bytes": 1000},
    ]
    value = {"why": "", "cache_bytes": 8192, "samples": samples}
    (tmp_path / "memory.json").write_text(json.dumps(value))
    mix_run = verify_mix(run, mix)
    assert mix_run.use == {"cache_bytes": 4096, "moved_bytes": 500}
    assert (mix_run.cache_bytes, mix_run.missing) == (8192, {})
    (tmp_path / "memory.json").write_text(json.dumps({**value, "samples": [], "why": "only root"}))
    assert verify_mix(run, mix).missing == dict.fromkeys(("cache_bytes", "moved_bytes"), "only root")


def test_a_use_that_is_missing_names_part_and_reason(tmp_path: Path) -> None:
    mix, head = two_parts(), part_lines(0, memory_bytes="na", why="controller")
    run = verify_mix(raw_run(tmp_path, mix, mix_console([head, DUMMY], good_runs())), mix)
    assert re.search(r"^part well#1: .* no such controller .*\(error 2\)$", run.missing["memory_bytes"])


def test_the_failure_of_the_conductor_names_the_part(tmp_path: Path) -> None:
    text = b"benchfail: mix: part 1: memory.max: Invalid argument\n"
    assert "part dummy#1: memory.max: Invalid argument" in refused(tmp_path, text)


def test_a_run_that_ended_badly(tmp_path: Path) -> None:
    mix = two_parts()
    raw = replace(raw_run(tmp_path, mix, good_console()), ending=Ending.PANIC, detail="it panicked")
    with pytest.raises(VerifyError, match="the run ended with panic: it panicked"):
        verify_mix(raw, mix)


def test_a_panic_of_the_guest_beside_a_whole_transcript(tmp_path: Path) -> None:
    assert "matches the failure pattern `Oops:`" in refused(tmp_path, good_console() + b"[ 1.0] Oops: 0\n")


def test_the_folder_of_another_mix(tmp_path: Path) -> None:
    mix = two_parts()
    raw = raw_run(tmp_path, mix, good_console())
    other = changed(mix, 0, part("well#1", "wrong"))
    with pytest.raises(VerifyError, match="is a run of another mix"):
        verify_mix(raw, other)
    (tmp_path / "mix.json").write_text(json.dumps({**mix.as_json(), "least": 1}))
    with pytest.raises(VerifyError, match="is a run of another mix"):
        verify_mix(raw, mix)


def test_limits_are_those_that_the_kernel_had(tmp_path: Path) -> None:
    """Memory in whole pages, CPU time as a quota of 10 ms of all CPUs."""
    limits = PartLimits(cpu_ppm=250_000, memory_bytes=1_000_000, disk_bytes_per_s=5, network_bytes_per_s=6)
    mix = changed(two_parts(), 0, part("well#1", limits=limits))
    words: dict[str, object] = {
        "cpu_us": 5000,
        "period_us": 10_000,
        "memory": 999_424,
        "disk": 5,
        "network": 6,
    }
    text = mix_console([part_lines(0, "program", **words), DUMMY], good_runs())
    assert verify_mix(raw_run(tmp_path / "good", mix, text), mix).parts[0].runs == 2
    for name in words:
        lost = mix_console([part_lines(0, "program", **{**words, name: "na"}), DUMMY], good_runs())
        assert "part well#1: its limits are" in refused(tmp_path / name, lost, mix)


def test_another_number_of_cpus(tmp_path: Path) -> None:
    text = mix_console([part_lines(0), DUMMY], good_runs(), online=1)
    assert refused(tmp_path, text) == "2 CPUs were requested, but 1 came up"


def test_another_question_than_was_asked(tmp_path: Path) -> None:
    text = mix_console([part_lines(0), DUMMY], good_runs(), least=1)
    assert "but the guest reports ('linux', 2, 1, 1000)" in refused(tmp_path, text)


def test_a_window_longer_than_the_host_saw(tmp_path: Path) -> None:
    mix = two_parts()
    raw = replace(raw_run(tmp_path, mix, good_console()), host_span_ns=1)
    assert verify_mix(raw, mix)  # within the slack of a second
    with pytest.raises(VerifyError, match="the host did not measure how long"):
        verify_mix(replace(raw, host_span_ns=None), mix)


def test_the_part_that_ended_early_is_named_and_not_those_that_it_stopped(tmp_path: Path) -> None:
    mix = changed(two_parts(), 1, part("bad#1"))
    bad = Ran(1, 0, good_runs()[0].start, b"", exit=3)
    text = mix_console([part_lines(0), part_lines(1)], [bad], ended="stopped")
    assert re.search("^part bad#1: it ended early: run 0 .*status 3", refused(tmp_path, text, mix))


MS = 1_000_000


def sample(moment: str, ms: int, held: int | None, moved: int | None) -> dict[str, object]:
    return {"moment": moment, "time_ns": ms * MS, "held_bytes": held, "moved_bytes": moved}


GOOD = [
    sample("start", 0, 9_000, 0),
    sample("ready", 100, 50, 1_000),
    sample("", 150, 80, 1_500),
    sample("result", 300, 70, 5_000),
    sample("end", 300, 60, 5_000),
    sample("exit", 900, 9_999, 99_999),
]


def record(folder: Path, text: str) -> MemoryRecord | None:
    (folder / "memory.json").write_text(text)
    return RunFiles(replace(factories.raw_run(factories.cell(2)), folder=folder)).host_memory


def seen(folder: Path, samples: list[dict[str, object]], why: str = "") -> HostMemory:
    counted = record(folder, json.dumps({"why": why, "cache_bytes": 1 << 20, "samples": samples}))
    assert counted
    return host_memory(counted, 100 * MS)


def test_the_most_held_and_the_bytes_at_the_mean_rate(tmp_path: Path) -> None:
    """4,000 bytes in 200 ms are 2,000 in a window of 100 ms; before and after it nothing counts."""
    assert seen(tmp_path, GOOD) == HostMemory(80, 2_000, 1 << 20, "a counter could not be read in the window")


def test_without_the_file_nothing_is_said(tmp_path: Path) -> None:
    assert RunFiles(replace(factories.raw_run(factories.cell(2)), folder=tmp_path)).host_memory is None


@pytest.mark.parametrize(
    ("samples", "held", "moved"),
    [
        ([GOOD[1], sample("", 150, None, 1), GOOD[3]], None, 2_000),
        ([GOOD[1], sample("end", 300, 1, None)], 50, None),
        ([sample("ready", 100, 1, 9_000), GOOD[3]], 70, None),
        ([sample("ready", 300, 1, 1), GOOD[3]], 70, None),
        ([GOOD[0], GOOD[3]], None, None),
        ([GOOD[1]], None, None),
        ([GOOD[3], GOOD[1]], None, None),
        ([], None, None),
    ],
)
def test_a_figure_that_is_not_known_is_none(
    tmp_path: Path, samples: list[dict[str, object]], held: int | None, moved: int | None
) -> None:
    memory = seen(tmp_path, samples)
    assert (memory.held_bytes, memory.moved_bytes) == (held, moved)
    assert memory.why


def test_the_reason_of_the_host_is_given(tmp_path: Path) -> None:
    memory = seen(tmp_path, [], "only root may\x1b[2J")
    assert memory.why.startswith("only root may")
    assert "\x1b" not in memory.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "has no why"),
        ("[]", "not an object"),
        ("x", "memory.json"),
        ("[" * 100_000, "memory.json"),
        ('{"why": "", "cache_bytes": -1, "samples": []}', "cache_bytes"),
        ('{"why": "", "cache_bytes": 1, "samples": [1]}', r"samples\[0\] is not an object"),
        ('{"why": "", "cache_bytes": 1, "samples": [], "more": 1}', "unknown key"),
    ],
)
def test_a_file_that_nobody_wrote_so_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(VerifyError, match=why):
        record(tmp_path, text)
