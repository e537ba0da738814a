"""The native checks of tern (schedulers, ring, park, waits, faults, self-tests), sanitized; its build."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.paths import data_root
from tests.machines import PATIENCE_S
from tools.compilers import OF_PROGRAMS, differences
from tools.elf_image import Image


def make(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", "-C", str(data_root() / "kernel"), f"OUT={out}", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_native_checks_pass(tmp_path: Path) -> None:
    done = make(tmp_path, "host-test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "29 passed, 0 failed"


def test_an_unknown_profile_is_refused(tmp_path: Path) -> None:
    done = make(tmp_path, "PROFILE=quick")
    assert done.returncode != 0
    assert "PROFILE=quick is not known: debug, hardened, balanced or fast" in done.stderr


def test_the_build_writes_below_out_only(tmp_path: Path) -> None:
    kernel = data_root() / "kernel"
    before = sorted(kernel.rglob("*"))
    assert make(tmp_path, "PROFILE=fast").returncode == 0
    assert (tmp_path / "tern.elf").read_bytes()[:4] == b"\x7fELF"
    assert sorted(kernel.rglob("*")) == before


def test_a_kernel_is_built_around_a_users_own_workload(tmp_path: Path) -> None:
    source = tmp_path / "their folder" / "x.c"
    source.parent.mkdir()
    source.write_text((data_root() / "guest/workloads/primes/primes.c").read_text())
    done = make(tmp_path / "out", "PROFILE=fast", "WORKLOAD=mine", f"SOURCE={source}")
    assert done.returncode == 0, done.stderr
    programs = sorted(path.name for path in (tmp_path / "out" / "programs").iterdir())
    assert programs == ["mine.elf", "selftest.elf"]
    assert b"\0mine\0" in (tmp_path / "out" / "tern.elf").read_bytes()


def built(out: Path, profile: str) -> tuple[Image, Image]:
    """tern.elf and warm.elf."""
    source = data_root() / "guest/workloads/primes/primes.c"
    done = make(out, f"PROFILE={profile}", "WORKLOAD=primes", f"SOURCE={source}")
    assert done.returncode == 0, done.stderr
    return Image.read(out / "tern.elf"), Image.read(out / "warm.elf")


@pytest.mark.parametrize("profile", ["debug", "hardened", "balanced", "fast"])
def test_the_kernel_that_waits_is_the_other_one_with_another_table_of_programs(
    tmp_path: Path, profile: str
) -> None:
    """All code and data are at the same addresses, so a warm start executes what a cold one does."""
    cold, warm = built(tmp_path, profile)
    assert list(differences(cold, warm)) == []
    _, text, constants, values = sorted(cold.segments)
    assert (warm.segments[text], warm.segments[values]) == (cold.segments[text], cold.segments[values])
    own = cold.symbols["image_table"] - constants
    assert warm.segments[constants][:own] == cold.segments[constants][:own]
    assert b"benchwaits" in cold.segments[constants][:own]
    assert warm.symbols["kernel_end"] == cold.symbols["kernel_end"]


def test_a_kernel_that_differs_elsewhere_is_noticed(tmp_path: Path) -> None:
    cold, warm = built(tmp_path, "fast")
    _, text, constants, values = sorted(cold.segments)
    for place in (text, constants, values):
        data = bytearray(warm.segments[place])
        data[16] ^= 1
        changed = replace(warm, segments={**warm.segments, place: bytes(data)})
        assert list(differences(cold, changed)) == [f"the segment at {place:#x} differs at {place + 16:#x}"]
    longer = replace(warm, segments={**warm.segments, values: warm.segments[values] + b"x"})
    end = values + len(warm.segments[values])
    assert list(differences(cold, longer)) == [f"the segment at {values:#x} differs at {end:#x}"]
    moved = replace(warm, symbols={**warm.symbols, "thread_idle": 1, "own": 2})
    was = cold.symbols["thread_idle"]
    assert list(differences(cold, moved)) == [
        "`own` is at 0x0 and 0x2",
        f"`thread_idle` is at {was:#x} and 0x1",
    ]
    elsewhere = replace(warm, segments={at + 4096: data for at, data in warm.segments.items()})
    assert "the segments begin at" in next(differences(cold, elsewhere))
    assert list(differences(cold, cold)) == [
        "the first words of the tables are not image_init and warm_begin"
    ]


def test_nothing_moves_with_the_size_of_programs(tmp_path: Path) -> None:
    """As long as they fit into the room that every kernel has for them."""
    one, many = tmp_path / "one", tmp_path / "many"
    large = tmp_path / "large.c"
    text = (data_root() / "guest/workloads/primes/primes.c").read_text()
    large.write_text(f"{text}\nextern const char room[];\nconst char room[900 * 1024] = {{1}};\n")
    small, _ = built(one, "fast")
    assert make(many, "PROFILE=fast", "WORKLOAD=large", f"SOURCE={large}").returncode == 0
    cold, warm = (Image.read(many / name) for name in ("tern.elf", "warm.elf"))
    assert list(differences(cold, warm)) == []
    assert {name: at for name, at in cold.symbols.items() if not name.startswith(OF_PROGRAMS)} == {
        name: at for name, at in small.symbols.items() if not name.startswith(OF_PROGRAMS)
    }
