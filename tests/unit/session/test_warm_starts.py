"""The snapshots of a session: what is in their key, the boot behind a seed, and what the cache does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pytest

from benchgate.base.cells import Accel, Lane, Mode, Placement
from benchgate.base.errors import EvidenceError, UsageError
from benchgate.base.runs import Image
from benchgate.base.snapshots import SCHEMA, SnapshotRecord, StartKind
from benchgate.base.system.qemu import Qemu
from benchgate.base.system.script import Script, ScriptStep
from benchgate.base.system.systems import AskMethod
from benchgate.build import cache
from benchgate.insn import plugin
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run import snapshot_cache
from benchgate.run.argv import BootOptions, VmConfig
from benchgate.run.snapshot_cache import BootToKeep
from benchgate.session import warm_starts
from benchgate.session.measuring_host import ThisHost
from benchgate.session.warm_starts import WarmStarts
from benchgate.session.workbench import Workbench
from tests.unit.machines import duo
from tests.unit.plans import planned

NONCE = "0123456789abcdef"
DIGESTS = {"kernel": "aa", "start": "bb", "initrd": "cc"}
Inputs = dict[str, str]


def place(folder: str, **digests: str) -> tuple[Image, VmConfig]:
    """The image and the QEMU of one machine, all below this folder."""
    home = Path(folder)
    image = Image(
        home / "kernel",
        home / "initrd",
        None,
        {**DIGESTS, **digests},
        start=home / "start.cpio",
        later=frozenset({"initrd"}),
    )
    qemu = Qemu(home / "bin/qemu", {}, (home / "bin/roms",), (10, 0, 2), "q", "user", ())
    return image, VmConfig(qemu, Accel.TCG, "qemu64", home / "clock.so")


def cell(cpus: int = 2, word: str = "linux:start=warm") -> PlannedCell:
    return replace(planned(cpus, system=word), seats=Seats(Lane.INSN, Placement.VIRTUAL, ()))


def inputs(of: PlannedCell, where: tuple[Image, VmConfig], boot: int = 1) -> Inputs:
    return dict(warm_starts._boot(of, *where, boot).inputs)


USUAL = place("/home/someone/cache")


def test_the_key_has_no_path_of_this_machine() -> None:
    own = inputs(cell(), USUAL)
    assert own == inputs(cell(), place("/elsewhere/a,b"))
    assert "someone" not in str(own)
    assert str(own).count(NONCE) == 0
    assert "-smp 2" in own["words"]
    assert "{qemu} -L {data}" in own["words"]
    assert ("{kernel}" in own["words"], "{start}" in own["words"], "{clock}" in own["words"]) == (True,) * 3


def test_the_key_has_everything_else() -> None:
    own = inputs(cell(), USUAL, 4)
    words, machine = own.pop("words"), own.pop("machine")
    assert own == {
        "file kernel": "aa",
        "file start": "bb",
        "qemu": "10.0.2 q",
        "clock": plugin.source_digest(),
        "prompt": "",
        "quiet": "10000000",
        "boot": "4",
        "format": str(SCHEMA),
    }
    assert machine == ""
    assert ",seed=4" in words
    assert "bench.workload" not in words


def test_a_workload_its_parameters_and_its_files_come_after_the_start() -> None:
    planned_cell = cell()
    other = replace(
        planned_cell,
        cell=replace(planned_cell.cell, workload="checksum", mode=Mode.THREAD, params=(("blocks", 5),)),
    )
    image, vm = USUAL
    more = replace(image, initrd=Path("/other/initrd"), digests={**DIGESTS, "initrd": "dd"}, data_folder="/d")
    assert inputs(planned_cell, USUAL) == inputs(other, (more, vm))


def test_what_an_image_says_comes_later_is_not_in_the_key() -> None:
    """The programs of a mix, for example, and its plan; but what a guest has at its boot is."""
    image, vm = USUAL
    mixes = [
        replace(image, digests={**DIGESTS, "mix": plan}, later=frozenset({"initrd", "mix"})) for plan in "xy"
    ]
    assert inputs(cell(), (mixes[0], vm)) == inputs(cell(), (mixes[1], vm)) == inputs(cell(), USUAL)
    early = [replace(mix, later=frozenset({"initrd"})) for mix in mixes]
    assert inputs(cell(), (early[0], vm)) != inputs(cell(), (early[1], vm))


def other_clock(monkeypatch: pytest.MonkeyPatch) -> Inputs:
    monkeypatch.setattr(snapshot_cache, "source_digest", lambda: "other")
    return inputs(cell(), USUAL)


def other_qemu(**values: object) -> Inputs:
    image, vm = USUAL
    return inputs(cell(), (image, replace(vm, qemu=replace(vm.qemu, **values))))  # type: ignore[arg-type]


def other_system(change: Callable[[PlannedCell], PlannedCell]) -> Inputs:
    return inputs(change(cell()), USUAL)


def with_append(planned_cell: PlannedCell) -> PlannedCell:
    return replace(
        planned_cell,
        system=replace(
            planned_cell.system, boot=replace(planned_cell.system.boot, append="console=ttyS0 nosmt")
        ),
    )


def with_memory(planned_cell: PlannedCell) -> PlannedCell:
    return replace(
        planned_cell, system=replace(planned_cell.system, qemu=replace(planned_cell.system.qemu, memory="1G"))
    )


def with_argument(planned_cell: PlannedCell) -> PlannedCell:
    return replace(
        planned_cell,
        system=replace(
            planned_cell.system, qemu=replace(planned_cell.system.qemu, arguments=("-device", "x"))
        ),
    )


def on_machine(atomic_ns: str) -> Callable[[PlannedCell], PlannedCell]:
    return lambda planned_cell: replace(planned_cell, system=planned_cell.system.on(duo(atomic_ns=atomic_ns)))


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], Inputs]] = {
    "CPUs": lambda _: inputs(cell(1), USUAL),
    "the seed of the boot": lambda _: inputs(cell(), USUAL, 2),
    "the kernel": lambda _: inputs(cell(), place("/home", kernel="ab")),
    "the archive of PID 1": lambda _: inputs(cell(), place("/home", start="ab")),
    "QEMU": lambda _: other_qemu(digest="r"),
    "the QEMU that a script starts": lambda _: other_qemu(version=(11, 1, 3)),
    "the clock": other_clock,
    "the CPU model": lambda _: inputs(cell(), (USUAL[0], replace(USUAL[1], cpu_model="max"))),
    "the kernel's words": lambda _: other_system(with_append),
    "the memory": lambda _: other_system(with_memory),
    "an argument": lambda _: other_system(with_argument),
    "a machine": lambda _: other_system(on_machine("4")),
    "another machine": lambda _: other_system(on_machine("5")),
    "the architecture": lambda _: inputs(cell(word="linux:arch=aarch64:start=warm"), USUAL),
}


def test_the_key_changes_with_each_thing_on_which_a_snapshot_depends(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"": inputs(cell(), USUAL)}
    for name, change in CHANGES.items():
        with monkeypatch.context() as patch:
            seen[name] = change(patch)
    equal = [(a, b) for a in seen for b in seen if a < b and seen[a] == seen[b]]
    assert equal == []


def with_files(*words: str) -> PlannedCell:
    planned_cell = cell()
    qemu = replace(planned_cell.system.qemu, arguments=words)
    return replace(planned_cell, system=replace(planned_cell.system, qemu=qemu))


@pytest.mark.parametrize("word", ["{}", "name=opt/x,file={}", "loader,file={},addr=4096"])
def test_the_key_has_the_content_of_a_file_that_arguments_name(tmp_path: Path, word: str) -> None:
    result = []
    for folder, content in (("a", "one"), ("b,c", "one"), ("d", "two")):
        path = tmp_path / folder / "file"
        path.parent.mkdir()
        path.write_text(content)
        named = str(path) if word == "{}" else str(path).replace(",", ",,")
        result.append(inputs(with_files("-x", word.format(named)), USUAL))
    assert result[0] == result[1]
    assert result[0] != result[2]
    assert result[0]["file of arguments 0"] == sha256(b"one").hexdigest()
    assert str(tmp_path) not in str(result[0])


def test_a_device_that_arguments_name_is_refused(tmp_path: Path) -> None:
    for path in ("/dev/null", str(tmp_path)):
        with pytest.raises(
            UsageError, match=f"cannot start warm: `qemu.arguments` has {path}, which is no file"
        ):
            inputs(with_files("-object", f"rng-random,id=r,filename={path}"), USUAL)
    assert "file of arguments 0" not in inputs(with_files("-device", "virtio-rng-pci,rng=r"), USUAL)


SCRIPT = Script(r"^\$ $", (ScriptStep("go {nonce} {workers}", r"^\$ $", captures=("x",)),), ready="^up$")


def prompted(script: Script) -> Inputs:
    planned_cell = cell()
    boot = replace(planned_cell.system.boot, initrd="", append="")
    system = replace(planned_cell.system, ask=AskMethod.PROMPT, script=script, boot=boot)
    image, vm = USUAL
    own = Image(image.kernel, None, None, {"kernel": "aa"})
    return inputs(replace(planned_cell, system=system), (own, vm))


def step(**values: object) -> Script:
    return replace(SCRIPT, steps=(replace(SCRIPT.steps[0], **values),))  # type: ignore[arg-type]


def before(word: str) -> Script:
    return replace(SCRIPT, steps=(ScriptStep(None, r"^\$ $", word), *SCRIPT.steps))


@pytest.mark.parametrize(
    ("script", "is_other"),
    [
        (SCRIPT, False),
        (step(send="stop"), False),
        (step(captures=("y",), deadline_s=5), False),
        (replace(SCRIPT, byte_ns=7), False),
        (replace(SCRIPT, steps=(*SCRIPT.steps, ScriptStep("more", "^# $"))), False),
        (replace(SCRIPT, ready="^ready$"), True),
        (step(prompt="^login: $"), True),
        (replace(SCRIPT, delay_ns=2_000_000), True),
        (before("^hello$"), True),
    ],
)
def test_at_a_prompt_the_key_has_what_decides_where_the_prompt_is(script: Script, is_other: bool) -> None:
    assert (prompted(script) != prompted(SCRIPT)) == is_other
    assert prompted(before("^hello$")) != prompted(before("^bye$"))


# ---- boots and the cache


RECORD = SnapshotRecord(9, 5, 0, {"ram": "a"}, {})


@dataclass
class Maker:
    """Stands in for the making of snapshots: each has a file of its own."""

    made: list[int] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    record: SnapshotRecord | None = RECORD

    def make(self, files: Path, of: BootToKeep, inputs: Inputs) -> None:
        self.made.append(of.boot)
        (files / "ram").write_bytes(b"memory of boot %d" % of.boot)
        if self.record is not None:
            replace(self.record, boot=of.boot, inputs=inputs).save(files)


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Maker]:
    result = Maker()
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(snapshot_cache, "_make", result.make)
    yield result
    release()


def release() -> None:
    """What the end of this process does to the folders that it uses."""
    while cache._held:
        os.close(cache._held.popitem()[1])


def bench(maker: Maker, monkeypatch: pytest.MonkeyPatch, **options: object) -> Workbench:
    made = Workbench(Options(**options), ThisHost(), maker.told.append)  # type: ignore[arg-type]
    monkeypatch.setattr(made.images, "of", lambda *_: USUAL[0])
    monkeypatch.setattr(made.emulators, "vm", lambda _: USUAL[1])
    return made


@pytest.mark.parametrize(
    ("boots", "behind"),
    [(5, [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]), (1, [1] * 10), (3, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1])],
)
def test_boots_stand_behind_the_seeds_in_turn(
    maker: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, boots: int, behind: list[int]
) -> None:
    made = bench(maker, monkeypatch, boots=boots)
    starts = [made.request(cell(), BootOptions(NONCE, seed=n), tmp_path).spec.start for n in range(1, 11)]
    assert [start and start.record.boot for start in starts] == behind
    assert maker.made == list(dict.fromkeys(behind))
    assert len(maker.told) == boots
    assert maker.told[0] == f"making a snapshot of linux.start-warm, 2 CPUs, boot {behind[0]}"
    assert {start and start.folder.parent.parent.name for start in starts} == {"snapshot"}
    made.request(cell(cpus=1), BootOptions(NONCE, seed=1), tmp_path)
    assert maker.told[-1] == "making a snapshot of linux.start-warm, 1 CPU, boot 1"


def test_the_recorded_boot_of_a_replay_counts_more_than_its_seed(
    maker: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = bench(maker, monkeypatch)
    for boot in (3, 0, 7):
        start = made.request(cell(), BootOptions(NONCE, seed=1, boot=boot), tmp_path).spec.start
        assert start is not None
        assert start.record.boot == boot


def test_workloads_and_runs_share_a_snapshot_and_cpu_counts_do_not(
    maker: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = bench(maker, monkeypatch)
    of = cell()
    for planned_cell in (of, replace(of, cell=replace(of.cell, params=(("hi", 5),))), cell(1)):
        made.request(planned_cell, BootOptions(NONCE, seed=1), tmp_path)
    made.request(of, BootOptions("f" * 16, seed=6), tmp_path)
    assert maker.made == [1, 1]


def test_the_inputs_of_a_snapshot_are_computed_once_for_all_runs_of_a_cell(
    maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []
    boot = warm_starts._boot

    def counted(of: PlannedCell, image: Image, vm: VmConfig, number: int) -> BootToKeep:
        computed.append(number)
        return boot(of, image, vm, number)

    monkeypatch.setattr(warm_starts, "_boot", counted)
    of, warm = cell(), WarmStarts(maker.told.append, 2)
    for _ in range(3):
        for number in (1, 2):
            assert warm.of(of, *USUAL, number).record.boot == number
    assert computed == [1, 2]


def test_a_file_that_arguments_name_is_read_for_each_run(maker: Maker, tmp_path: Path) -> None:
    path = tmp_path / "file"
    of, warm = with_files("-x", str(path)), WarmStarts(maker.told.append, 1)
    for content in ("one", "one", "two"):
        path.write_text(content)
        warm.of(of, *USUAL, 1)
    assert maker.made == [1, 1]


def test_a_cold_system_has_no_snapshot(maker: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = bench(maker, monkeypatch)
    monkeypatch.setattr(made.images, "of", lambda *_: replace(USUAL[0], start=None))
    spec = made.request(cell(word="linux"), BootOptions(NONCE, seed=1), tmp_path).spec
    assert (spec.start, spec.words, maker.made) == (None, "", [])


def test_a_snapshot_is_kept_and_a_damaged_one_is_made_again(maker: Maker) -> None:
    def folder() -> Path:
        release()
        return WarmStarts(maker.told.append, 5).of(cell(), *USUAL, 1).folder

    first = folder()
    assert (folder(), maker.made) == (first, [1])
    (first / "ram").write_bytes(b"memory of boot 2")
    assert (folder(), maker.made) == (first, [1, 1])
    assert (first / "ram").read_bytes() == b"memory of boot 1"
    (first / "ram").unlink()
    assert (folder(), maker.made) == (first, [1, 1, 1])
    (first / "start.json").write_text("{}")
    assert (folder(), maker.made) == (first, [1, 1, 1, 1])


@pytest.mark.parametrize("record", [None, SnapshotRecord(0, 5, 0, {}, {})])
def test_a_folder_without_a_record_is_no_snapshot(maker: Maker, record: SnapshotRecord | None) -> None:
    maker.record = record
    with pytest.raises(EvidenceError, match="has no snapshot: "):
        WarmStarts(maker.told.append, 5).of(cell(), *USUAL, 1)


def test_a_snapshot_in_the_place_of_another_is_refused(maker: Maker) -> None:
    """Two folders of the cache were exchanged: each is intact."""
    one, two = (WarmStarts(maker.told.append, 5).of(cell(), *USUAL, boot).folder.parent for boot in (1, 2))
    release()
    one.rename(one.with_name("kept"))
    two.rename(one)
    one.with_name("kept").rename(two)
    with pytest.raises(EvidenceError, match=r"has the snapshot of another guest \(words differs\): remove "):
        WarmStarts(maker.told.append, 5).of(cell(), *USUAL, 1)
    assert maker.made == [1, 2]


def test_the_system_of_these_tests_starts_warm() -> None:
    assert cell().system.boot.start is StartKind.WARM
    assert cell().starts_warm
