"""Jobs that QEMU gives to halted vCPUs, one after another without an end: they never keep the machine from
its turns, and none is forgotten. A guest begins and ends alike, in whatever order the host runs threads."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from benchgate.insn.plugin import c_file, c_folders
from tests.ckit import FLAGS, linked

DRIVER = Path(__file__).parents[4] / "data/errands/jobs.c"
FILES = (
    *("clock_vcpu", "clock_errands", "clock_grants", "clock_moment", "clock_state", "clock_time"),
    "lockstep",
)
LEAST = 40
"""Of a hundred steps; turns and jobs alternate."""
FIRST = {
    "jobs come first": ("clock_errands.c", " || turns() == turns_when_started", ""),
    "a job that comes meanwhile is forgotten": (
        "clock_errands.c",
        "        v->pending = true;\n",
        "        ;\n",
    ),
}
HALTS = (
    "clock_vcpu.c",
    "        clock_errand_request(c);\n}",
    "        clock_vcpus[c].pending = true;\n}",
)


def library(folder: Path, file: str = "", old: str = "", new: str = "") -> ctypes.CDLL:
    texts = {DRIVER.name: DRIVER.read_text(encoding="utf-8")}
    texts |= {f"{name}.c": c_file(f"{name}.c").read_text(encoding="utf-8") for name in FILES}
    if file:
        assert texts[file].count(old) == 1, f"the text to replace is no longer in {file}"
        texts[file] = texts[file].replace(old, new)
    words = (*FLAGS, "-shared", *(f"-I{c_folder}" for c_folder in c_folders()))
    return ctypes.CDLL(str(linked(folder / "jobs.so", words, texts, {})))


def turns_and_jobs(made: ctypes.CDLL) -> tuple[int, int]:
    turns, jobs = ctypes.c_uint(), ctypes.c_uint()
    made.turns_and_jobs(ctypes.byref(turns), ctypes.byref(jobs))
    return turns.value, jobs.value


def test_turns_and_jobs_alternate(tmp_path: Path) -> None:
    assert min(turns_and_jobs(library(tmp_path))) > LEAST


@pytest.mark.parametrize("name", FIRST)
def test_a_clock_in_which_one_of_them_starves_is_caught(tmp_path: Path, name: str) -> None:
    assert min(turns_and_jobs(library(tmp_path, *FIRST[name]))) < 2


def test_a_vcpu_halts_before_its_jobs_are_done(tmp_path: Path) -> None:
    """Else, with one job after another, it would never stop, and no other vCPU would run."""
    (tmp_path / "broken").mkdir()
    halts, broken = library(tmp_path), library(tmp_path / "broken", *HALTS)
    assert halts.halts_before_its_job() & 1
    assert not broken.halts_before_its_job() & 1


def begins(made: ctypes.CDLL, halt_first: bool) -> tuple[int, int]:
    one, both = ctypes.c_uint(), ctypes.c_uint()
    made.begins(halt_first, ctypes.byref(one), ctypes.byref(both))
    return one.value, both.value


@pytest.mark.parametrize("halt_first", [True, False])
def test_a_guest_begins_when_all_its_cpus_have_come(tmp_path: Path, halt_first: bool) -> None:
    assert begins(library(tmp_path), halt_first) == (0, 1)


def test_a_guest_that_begins_with_its_first_cpu_is_caught(tmp_path: Path) -> None:
    made = library(tmp_path, "clock_vcpu.c", " || clock_machine.vcpu[c].state == LOCKSTEP_RUN)", ")")
    assert begins(made, False) != (0, 1)


@pytest.mark.parametrize("is_right", [True, False])
def test_a_restored_guest_begins_when_all_its_cpus_have_halted(tmp_path: Path, *, is_right: bool) -> None:
    """Else the host orders the halts in its record of threads."""
    change = (
        "clock_vcpu.c",
        "    host_begins = true;\n    begin_together();\n",
        "    clock_guest_begins();\n",
    )
    made = library(tmp_path, *(() if is_right else change))
    one, both = ctypes.c_uint(), ctypes.c_uint()
    made.begins_by_the_host(ctypes.byref(one), ctypes.byref(both))
    assert (one.value, both.value) == (0 if is_right else 1, 1)


def test_a_halt_in_which_qemu_ends_is_not_the_guests(tmp_path: Path) -> None:
    made = library(tmp_path)
    assert made.told_at_the_end(0) == 0
    assert made.told_at_the_end(7) == 1


def test_a_clock_that_tells_a_halt_of_qemus_is_caught(tmp_path: Path) -> None:
    made = library(tmp_path, "clock_state.c", "return executed != stopped_at;", "return true;")
    assert made.told_at_the_end(0) == 1
