"""vCPUs that hand over their turns, without QEMU (tests/data/carrier/turns.c): on one thread of the host in
two ways, or on a thread each. What belongs to a thread is still there when it goes on, and no release is
lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.insn.log import CARRIERS
from benchgate.insn.plugin import c_file, c_folders
from tests.ckit import FLAGS, linked
from tests.machines import PATIENCE_S

DRIVER = Path(__file__).parents[4] / "data/carrier/turns.c"
FILES = ("carrier", "switch", "journal")
ROUNDS = 20_000
CARRIED = ("fsbase", "prctl")
BROKEN = {
    "a register is lost": ("switch.c", '"r12", "r13", ', '"r13", '),
    "the rounding mode stays that of the last one": ("switch.c", '"ldmxcsr 24(%%rdx)\\n\\t"', '""'),
    "the precision stays that of the last one": ("switch.c", '"fldcw 28(%%rdx)\\n\\t"', '""'),
}
INSTRUCTION = '".byte 0xf3, 0x48, 0x0f, 0xae, 0xd0\\n\\t"'
LOST = ("carrier.c", "    if (must_ring)\n        ring();\n", "")


def program(folder: Path, file: str = "", old: str = "", new: str = "") -> Path:
    texts = {DRIVER.name: DRIVER.read_text(encoding="utf-8")}
    texts |= {f"{name}.c": c_file(f"{name}.c").read_text(encoding="utf-8") for name in FILES}
    if file:
        assert texts[file].count(old) == 1, f"the text to replace is no longer in {file}"
        texts[file] = texts[file].replace(old, new)
    words = (*FLAGS, *(f"-I{c_folder}" for c_folder in c_folders()))
    return linked(folder / "turns", words, texts, {})


def turns(
    made: Path, way: str, vcpus: int, rounds: int = ROUNDS, wait_s: float = PATIENCE_S
) -> dict[str, str]:
    argv = [str(made), way, str(vcpus), str(rounds)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=wait_s)
    words = done.stdout.split()
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("vcpus", [2, 3, 64])
@pytest.mark.parametrize("way", CARRIERS)
def test_every_turn_comes_and_each_vcpu_finds_what_is_its_own(tmp_path: Path, way: str, vcpus: int) -> None:
    seen = turns(program(tmp_path), way, vcpus)
    assert (seen["way"], seen["done"], seen["wrong"]) == (way, str(ROUNDS), "0")
    away, others = (vcpus, 0) if way in CARRIED else (0, vcpus - 1)
    assert (seen["away"], seen["others"]) == (str(away), str(others))


def test_the_256th_vcpu_has_its_turns(tmp_path: Path) -> None:
    seen = turns(program(tmp_path), "fsbase", 256)
    assert (seen["done"], seen["wrong"], seen["others"]) == (str(ROUNDS), "0", "0")


@pytest.mark.parametrize("name", BROKEN)
def test_a_switch_that_loses_something_is_seen(tmp_path: Path, name: str) -> None:
    """By the turns, if not by the trial at the start."""
    made = program(tmp_path, *BROKEN[name])
    refused = subprocess.run([made, "fsbase", "2", "1"], capture_output=True, check=False).returncode == 1
    assert refused or int(turns(made, "fsbase", 3)["wrong"]) > ROUNDS // 10


def test_a_release_that_nobody_hears_is_seen(tmp_path: Path) -> None:
    """The carrier looks once a second by itself, so its turns come late, not never."""
    with pytest.raises(subprocess.TimeoutExpired):
        turns(program(tmp_path, *LOST), "fsbase", 2, wait_s=5)


@pytest.mark.parametrize(
    ("old", "wanted"),
    [
        ("return base == self && trial.visits == 2", "return base == self && trial.visits == 3"),
        ("(void *)(top - 8); // as after a call", "(void *)8;"),
        (INSTRUCTION, '"ud2\\n\\t"'),
    ],
)
def test_where_the_trial_fails_or_crashes_each_vcpu_keeps_its_thread(
    tmp_path: Path, old: str, wanted: str
) -> None:
    """What the third changes, only one of the two ways needs."""
    made = program(tmp_path, "switch.c", old, wanted)
    failed = subprocess.run([made, "fsbase", "2", "10"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "cannot be carried in the way that the option carrier wants" in failed.stderr
    best = turns(made, "best", 2)
    assert (best["way"], best["wrong"]) == ("prctl" if old == INSTRUCTION else "threads", "0")


def test_what_is_no_way_is_refused(tmp_path: Path) -> None:
    done = subprocess.run([program(tmp_path), "boat", "2", "10"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
