"""Which runs can be forks, which of them share a template, and how that is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.exploration import Strategy, usual
from benchgate.base.runs import BootSpec, Deadlines, Uses
from benchgate.base.snapshots import GuestSnapshot, SnapshotRecord
from benchgate.base.system.machines import MemoryRange
from benchgate.base.system.qemu import Qemu
from benchgate.run.forked import request_text
from benchgate.run.templates import key_of, request_of, template_spec, why_not

ONE, OTHER = Path("/s/runs/1"), Path("/s/runs/22")
MARK, ANOTHER = "0123456789abcdef", "fedcba9876543210"


SAME = {"file kernel": "dd", "boot": "1", "words": "seed=1"}
BOOT = SnapshotRecord(7, 9, 1, {"ram": "aa"}, SAME)
OTHER_BOOT = SnapshotRecord(8, 10, 2, {"ram": "bb"}, {**SAME, "boot": "2", "words": "seed=2"})


def spec(folder: Path = ONE, mark: str = MARK, seed: int = 1, more: str = "", hi: int = 20) -> BootSpec:
    plugin = f"/clock.so,out={folder}/clock.log,seed={seed},quantum=5000,start=7:9{more}"
    words = ("-fw_cfg", f"name=opt/benchgate/words,file={folder}/words")
    program = ("-fw_cfg", f"name=opt/benchgate/files,file=/cache/,,{hi}")
    memory = ("-object", "memory-backend-file,mem-path=/cache/1/ram")
    return BootSpec(
        argv=("qemu", "-name", f"guest={mark}", *memory, *words, *program, "-plugin", plugin, "-S"),
        environment={"LD_PRELOAD": "/clock.so"},
        lane=Lane.INSN,
        cpus=2,
        pins=(),
        deadlines=Deadlines(1, 1),
        start=GuestSnapshot(Path("/cache/1"), BOOT),
        words=f"bench.nonce={mark} bench.hi={hi}",
    )


def from_other_boot(run: BootSpec) -> BootSpec:
    words = (word.replace("start=7:9", "start=8:10") for word in run.argv)
    argv = tuple(word.replace("/cache/1/", "/cache/2/") for word in words)
    return replace(run, argv=argv, start=GuestSnapshot(Path("/cache/2"), OTHER_BOOT))


def test_runs_that_differ_in_what_is_given_after_the_fork_share_a_template() -> None:
    same = key_of(spec(), ONE, MARK)
    assert key_of(spec(OTHER, ANOTHER, seed=12345, hi=21), OTHER, ANOTHER) == same
    assert key_of(from_other_boot(spec()), ONE, MARK) == same


def test_the_disks_of_a_boot_are_open_before_the_fork() -> None:
    def with_disk(run: BootSpec) -> BootSpec:
        assert run.start is not None
        boot = run.start.record
        kept = replace(boot, digests={**boot.digests, "disk0": "cc"})
        return replace(run, start=replace(run.start, record=kept))

    one, other = with_disk(spec()), with_disk(from_other_boot(spec()))
    assert key_of(one, ONE, MARK) != key_of(other, ONE, MARK)


def test_explorations_have_one_boot_and_its_template_has_loaded_it() -> None:
    explored = replace(spec(), exploration=usual(Strategy.SYNC, 1))
    assert key_of(from_other_boot(explored), ONE, MARK) != key_of(explored, ONE, MARK)


@pytest.mark.parametrize(("digest", "is_same"), [("dd", True), ("ee", False)])
def test_files_of_the_boot_are_known_by_their_content(digest: str, is_same: bool) -> None:
    qemu = Qemu.__new__(Qemu)
    keys = set()
    for path, content in (("/cache/a/warm.elf", "dd"), ("/cache/b/warm.elf", digest)):
        one = spec()
        start = GuestSnapshot(Path("/cache/1"), replace(BOOT, inputs={"file kernel": content}))
        uses = Uses(qemu, None, {"kernel": Path(path)})
        keys.add(key_of(replace(one, argv=(*one.argv, "-kernel", path), start=start, uses=uses), ONE, MARK))
    assert len(keys) == 1 + (not is_same)


def test_a_request_has_all_that_is_the_fork_s_own() -> None:
    assert request_of(spec(), "5", MARK, ONE).split("\0") == [
        f"5 {MARK} {{numbers}} {ONE}",
        "start 7:9",
        "memory /cache/1",
        f"file opt/benchgate/words {ONE}/words",
        "file opt/benchgate/files /cache/,20",
    ]


@pytest.mark.parametrize(
    "other",
    [
        spec(more=",patience=61"),
        replace(spec(), environment={}),
        replace(spec(), shape="shape"),
        replace(spec(), host_cpus=(1,)),
        replace(spec(), exploration=usual(Strategy.SYNC, 1)),
        replace(spec(), start=GuestSnapshot(Path("/cache/1"), replace(BOOT, inputs={**SAME, "qemu": "11"}))),
    ],
)
def test_other_runs_do_not(other: BootSpec) -> None:
    assert key_of(other, ONE, MARK) != key_of(spec(), ONE, MARK)


def test_runs_that_are_stalled_at_other_places_do_not() -> None:
    sync = usual(Strategy.SYNC, 1)
    one, other = (replace(spec(), exploration=sync.at_places([at], 1, 1, 200, 300)) for at in (16, 32))
    explored = replace(spec(), exploration=sync)
    assert len({key_of(each, ONE, MARK) for each in (one, other, explored)}) == 3
    again = replace(spec(), exploration=replace(sync, seed=2))
    assert key_of(again, ONE, MARK) == key_of(explored, ONE, MARK)


def test_runs_that_observe_other_functions_of_the_kernel_do_not(tmp_path: Path) -> None:
    keys = set()
    for n, text in enumerate(("switch 1000", "switch 1000", "switch 2000")):
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "observe.txt").write_text(text)
        more = f",threads={folder}/threads.txt,observe={folder}/observe.txt"
        keys.add(key_of(spec(folder, more=more), folder, MARK))
    assert len(keys) == 2


def test_a_template_has_a_folder_and_a_mark_of_its_own_and_a_socket() -> None:
    made = template_spec(spec(), ONE, MARK, Path("/tmp/template"), ANOTHER)
    assert not [word for word in (*made.argv, made.words) if MARK in word or "/s/runs" in word]
    plugin = "/clock.so,out=/tmp/template/clock.log,seed=1,quantum=5000,start=7:9"
    assert made.argv[-2] == f"{plugin},forks=5,mark={ANOTHER}"
    assert "name=opt/benchgate/words,file=/tmp/template/words" in made.argv
    assert made.words == f"bench.nonce={ANOTHER} bench.hi=20"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (replace(spec(), start=None), "does not start from a snapshot"),
        (replace(spec(), lane=Lane.TCG), "does not start from a snapshot"),
        (replace(spec(), kept_memory=(MemoryRange(0, 4096, 0),)), "memory is examined"),
        (replace(spec(), counts_memory=True), "memory is examined"),
    ],
)
def test_a_run_that_shares_too_much_starts_by_itself(other: BootSpec, why: str) -> None:
    assert not why_not(spec(), ONE)
    assert why in why_not(other, ONE)


@pytest.mark.parametrize(("length", "is_refused"), [(399, False), (400, True)])
def test_a_run_whose_folder_has_a_very_long_path_starts_by_itself(length: int, is_refused: bool) -> None:
    """c/forks/forks.c has room for so many bytes, and one for the end of the text."""
    assert bool(why_not(spec(), Path("/" + "x" * (length - 1)))) is is_refused
    of_snapshot = replace(spec(), start=GuestSnapshot(Path("/" + "x" * (length - 1)), BOOT))
    assert bool(why_not(of_snapshot, ONE)) is is_refused


def test_a_request_names_the_whole_path_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study of mixes has its folder below the working directory; a template knows whole paths only."""
    monkeypatch.chdir("/")
    assert request_text("7", MARK, Path("tmp/run")).partition("\0")[0].endswith(" /tmp/run")
