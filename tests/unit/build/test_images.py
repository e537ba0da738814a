"""Images: their digests cover everything they are made from; errors name the missing file and its key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import hooks
from benchgate.base.errors import BuildError
from benchgate.base.runs import Image
from benchgate.base.snapshots import StartKind
from benchgate.base.system.systems import System
from benchgate.build import programs
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import inputs
from benchgate.build.fetch.inputs import LinuxKernel
from benchgate.build.images import Images, guest_digest, require_counts
from benchgate.plan.planned import PlannedCell
from tests.unit.plans import OWN, own_system, planned

LINUX = LinuxKernel(Path("/l/vmlinuz"), "6.12", "k" * 64, None, "c" * 64, ("unreviewed image",))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces fetching and building; gives a list of the requests."""
    requests: list[str] = []

    def linux_kernel(path: Path | None, *_: object, **__: object) -> LinuxKernel:
        requests.append(f"linux {path}")
        return LINUX

    def file(name: str) -> Path:
        requests.append(name)
        (tmp_path / name).write_bytes(name.encode())
        return tmp_path / name

    monkeypatch.setattr(inputs, "linux_kernel", linux_kernel)
    monkeypatch.setattr(programs, "guest_program", lambda *_: file("program"))
    monkeypatch.setattr(
        programs, "linux_initramfs", lambda _, more=(), **__: file("-".join(["initrd", *more]))
    )
    return requests


def images() -> Images:
    return Images(False, lambda _: None)


def own(folder: Path, text: str = OWN) -> PlannedCell:
    return replace(planned(1), system=own_system(folder, text))


def test_the_linux_guest(made: list[str], tmp_path: Path) -> None:
    cell, images_of_session = planned(1), images()
    image = images_of_session.of(cell.system, cell.workload)
    assert (image.kernel, image.initrd, image.program) == (LINUX.image, tmp_path / "initrd", None)
    assert image.digests == {"kernel": "k" * 64, "kernel_config": "c" * 64, "initrd": sha256(b"initrd")}
    assert image.labels == ("unreviewed image",)
    assert images_of_session.of(cell.system, cell.workload) is image
    assert made == ["linux None", "program", "initrd"]  # once per session


def test_what_a_feature_makes_takes_the_place_of_the_fetched_linux(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = replace(LINUX, image=Path("/l/vmlinux"), digest="b" * 64, labels=("built",))
    asked: list[System] = []

    def make(system: System, *, locked: bool, notice: Notice) -> LinuxKernel:
        asked.append(system)
        return built

    monkeypatch.setattr(hooks, "kernel_maker", {"source": make}.get)
    cell, images_of_session = planned(1, system="linux"), images()
    made_of = replace(cell.system.boot, source="linux-source-6.12")
    cell = replace(cell, system=replace(cell.system, boot=made_of))
    image = images_of_session.of(cell.system, cell.workload)
    assert (image.kernel, image.digests["kernel"], image.labels) == (built.image, "b" * 64, ("built",))
    assert images_of_session.linux(cell.system) == built
    assert asked == [cell.system]  # once per session
    assert made == ["program", "initrd"]


def test_without_a_feature_that_makes_it_the_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = planned(1, system="linux")
    made_of = replace(cell.system.boot, source="linux-source-6.12")
    monkeypatch.setattr(hooks, "shipped", dict)
    with pytest.raises(BuildError, match=r"linux\.yaml: boot\.source: .* made of linux-source-6\.12"):
        of(replace(cell, system=replace(cell.system, boot=made_of)))


def test_settings_and_a_scheduler_come_with_their_own_pid_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one every byte of the archive is as it was."""
    seen: list[tuple[object, set[str]]] = []

    def archive(program: Path, more: Mapping[str, Path], *, first: str, **_: object) -> Path:
        seen.append((first, set(more)))
        return program

    monkeypatch.setattr(inputs, "linux_kernel", lambda *_, **__: LINUX)
    monkeypatch.setattr(programs, "linux_initramfs", archive)
    for word in ("linux", f"linux:scx={programs.init()} -s 5", "linux:isolcpus=1"):
        of(planned(1, system=word))
    assert seen == [
        ("init", set()),
        ("init-tuned", {"scx/command", "scx/init"}),
        ("init-tuned", {"settings"}),
    ]


def test_the_image_of_native_is_the_program(made: list[str], tmp_path: Path) -> None:
    image = of(planned(1, system="native"))
    assert (image.kernel, image.initrd, image.program) == (None, None, tmp_path / "program")
    assert image.digests == {"program": sha256(b"program")}
    assert made == ["program"]


def with_files(cell: PlannedCell, folder: Path) -> PlannedCell:
    (folder / "a").mkdir()
    (folder / "a" / "words.txt").write_bytes(b"some words")
    workload = replace(cell.workload, file=folder / "workload.yaml", files=("a/words.txt",))
    return replace(cell, workload=workload)


def test_a_workloads_files_are_in_the_archive_of_the_linux_guest(made: list[str], tmp_path: Path) -> None:
    archived: dict[str, Path] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            programs, "linux_initramfs", lambda program, more, **_: archived.update(more) or program
        )
        image = of(with_files(planned(1), tmp_path))
    assert archived == {"files/a/words.txt": tmp_path / "a" / "words.txt"}
    assert image.data_folder == "/files"


def test_a_process_reads_copies_of_its_workloads_files(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    cell = with_files(planned(1, system="native"), tmp_path)
    image = of(cell)
    assert image.digests["files:a/words.txt"] == sha256(b"some words")
    (tmp_path / "a" / "words.txt").write_bytes(b"other words")
    assert (Path(image.data_folder) / "a" / "words.txt").read_bytes() == b"some words"
    assert of(cell).data_folder != image.data_folder
    (tmp_path / "a" / "words.txt").unlink()
    with pytest.raises(BuildError, match=r"words\.txt cannot be read: .* correct the key `files`"):
        of(cell)


def test_a_cache_whose_path_the_manifest_cannot_carry_is_refused(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "my cache"))
    with pytest.raises(BuildError, match=r"my cache/.* has a space"):
        of(with_files(planned(1, system="native"), tmp_path))


def test_a_system_without_our_archive_cannot_have_a_workloads_files(tmp_path: Path) -> None:
    (tmp_path / "k.elf").write_bytes(b"elf")
    with pytest.raises(BuildError, match="workload primes has files, which are in the archive of the Linux"):
        of(with_files(own(tmp_path), tmp_path))


@pytest.mark.parametrize("rebuild", [lambda path: path.write_bytes(b"new"), Path.unlink])
def test_a_kernel_that_is_rebuilt_during_a_session_is_not_booted(
    tmp_path: Path, rebuild: Callable[[Path], object]
) -> None:
    (tmp_path / "k.elf").write_bytes(b"elf")
    images_of_session, cell = images(), own(tmp_path)
    images_of_session.check(cell.system, cell.workload)
    (tmp_path / "k.elf").write_bytes(b"elf")  # linked again with the same result
    images_of_session.check(cell.system, cell.workload)
    rebuild(tmp_path / "k.elf")
    with pytest.raises(BuildError, match=r"k\.elf was changed while primes-.* was being measured"):
        images_of_session.check(cell.system, cell.workload)


def of(planned: PlannedCell) -> Image:
    return images().of(planned.system, planned.workload)


def test_a_users_kernel_in_the_folder_of_its_yaml(tmp_path: Path) -> None:
    (tmp_path / "k.elf").write_bytes(b"elf")
    image = of(own(tmp_path))
    assert (image.kernel, dict(image.digests), image.labels) == (
        tmp_path / "k.elf",
        {"kernel": sha256(b"elf")},
        (),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN, r"mine\.yaml: boot\.kernel: .*k\.elf does not exist; build it first"),
        (OWN.replace("k.elf", "."), r"mine\.yaml: boot\.kernel: .* cannot be read"),
        (
            OWN.replace("k.elf", "'{out}/k.elf'"),
            r"\{out\} needs the key `build`, which is missing",
        ),
    ],
)
def test_a_missing_kernel_is_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        of(own(tmp_path, text))


MEDIA = OWN.replace("kernel: k.elf, append: quiet", "firmware: bios, disks: [{image: a}, {image: b}]")
MEDIA += "ask: selftest\nresult: {format: bench-lines, operations: [pipe]}\n"
MEDIA = MEDIA.replace("console: {", "console: {online: '(?P<n>[0-9]+)', ")


def test_disks_and_firmware_are_part_of_the_guest(tmp_path: Path) -> None:
    for name in ("bios", "a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    images_of_session, cell = images(), own(tmp_path, MEDIA)
    image = images_of_session.of(cell.system, cell.workload)
    assert (image.kernel, image.firmware, image.disks) == (
        None,
        tmp_path / "bios",
        (tmp_path / "a", tmp_path / "b"),
    )
    assert image.digests == {"firmware": sha256(b"bios"), "disk0": sha256(b"a"), "disk1": sha256(b"b")}
    (tmp_path / "b").write_bytes(b"written by another program")
    with pytest.raises(BuildError, match=r"/b was changed while primes-.* was being measured"):
        images_of_session.check(cell.system, cell.workload)


def test_a_missing_disk_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    with pytest.raises(BuildError, match=r"mine\.yaml: boot\.disks\.1: .*/b does not exist"):
        of(own(tmp_path, MEDIA))


def test_a_missing_initrd_is_reported(tmp_path: Path) -> None:
    (tmp_path / "k.elf").write_bytes(b"elf")
    text = OWN.replace("kernel: k.elf", "kernel: k.elf, initrd: rd")
    with pytest.raises(BuildError, match=r"boot\.initrd: .*rd does not exist"):
        of(own(tmp_path, text))


def test_a_kernel_that_the_users_commands_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.txt").write_text("made")
    text = OWN.replace("k.elf", "'{out}/k.elf'")
    text += "build: {commands: [[cp, k.txt, '{out}/k.elf']], folder: src, sources: [src]}\n"
    image = of(own(tmp_path, text))
    assert image.digests == {"kernel": sha256(b"made")}


WARM = OWN.replace("kernel: k.elf", "kernel: k.elf, warm: {kernel: w.elf, program: '{workload}.elf'}")


def test_a_kernel_that_waits_is_loaded_for_a_warm_start_and_its_program_comes_later(tmp_path: Path) -> None:
    for name in ("k.elf", "w.elf", "primes.elf"):
        (tmp_path / name).write_text(name)
    one = own(tmp_path, WARM)
    cold, told = of(one), replace(one.system.boot, start=StartKind.WARM)
    warm = of(replace(one, system=replace(one.system, boot=told)))
    assert (cold.kernel, cold.program, cold.later) == (tmp_path / "k.elf", None, frozenset())
    assert (warm.kernel, warm.program) == (tmp_path / "w.elf", tmp_path / "primes.elf")
    assert warm.digests == {"kernel": sha256(b"w.elf"), "program": sha256(b"primes.elf")}
    assert (warm.brought, warm.later) == (warm.program, frozenset({"program"}))
    assert (cold.brought, cold.digests) == (None, {"kernel": sha256(b"k.elf")})


@pytest.mark.parametrize(("name", "key"), [("w.elf", "kernel"), ("primes.elf", "program")])
def test_a_missing_file_of_a_warm_start_is_reported(tmp_path: Path, name: str, key: str) -> None:
    for one in {"k.elf", "w.elf", "primes.elf"} - {name}:
        (tmp_path / one).write_text(one)
    cold = own(tmp_path, WARM)
    warm = replace(cold, system=replace(cold.system, boot=replace(cold.system.boot, start=StartKind.WARM)))
    assert of(cold).kernel == tmp_path / "k.elf"
    with pytest.raises(BuildError, match=rf"boot\.warm\.{key}: .*{re.escape(name)} does not exist"):
        of(warm)


def test_a_kernel_that_contains_the_workload_is_built_for_each_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    mine = tmp_path / "a b" / "sums.c"
    mine.parent.mkdir()
    mine.write_text("int sums;")
    text = OWN.replace("k.elf", "'{out}/k.elf'")
    text += "build: {commands: [[cp, '{source}', '{out}/k.elf'], [touch, '{out}/{workload}']]}\n"
    told: list[str] = []
    images_of_session, shipped = Images(False, told.append), own(tmp_path, text)
    other = replace(shipped, workload=replace(shipped.workload, name="sums", source=mine))
    assert images_of_session.of(other.system, other.workload).digests == {"kernel": sha256(b"int sums;")}
    again = replace(other.system, boot=replace(other.system.boot, symbols="{out}/sums"))
    assert images_of_session.symbols(again, other.workload)
    assert told == [f"building {other.system.name} for sums"], "the session asks for its symbols in each run"
    assert images_of_session.of(shipped.system, shipped.workload).digests == {
        "kernel": sha256(shipped.workload.source.read_bytes())
    }
    kernel = images_of_session.of(other.system, other.workload).kernel
    assert kernel is not None
    assert kernel.with_name("sums").is_file()
    mine.write_text("int changed;")
    assert images().of(other.system, other.workload).digests == {"kernel": sha256(b"int changed;")}


def test_the_guest_digest_covers_all_files() -> None:
    image = Image(None, None, None, {"b": "2", "a": "1"})
    assert guest_digest(image) == sha256(b"a=1\nb=2\n")
    assert guest_digest(replace(image, digests={"a": "1", "b": "3"})) != guest_digest(image)


def test_an_unpacked_kernel_is_named_beside_the_file_that_it_comes_from(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = planned(1)
    monkeypatch.setattr(inputs, "linux_kernel", lambda *_, **__: replace(LINUX, packed="p" * 64))
    digests = images().of(cell.system, cell.workload).digests
    assert (digests["kernel"], digests["vmlinuz"]) == ("k" * 64, "p" * 64)


PER_COUNT = OWN.replace(
    "kernel: k.elf", "kernel: 'k{n}.elf', initrd: 'rd{n}', firmware: 'fw{n}', disks: [{image: 'd{n}'}]"
)


def test_each_cpu_count_has_its_own_files(tmp_path: Path) -> None:
    for name in ("k", "rd", "fw", "d"):
        for cpus in (1, 2):
            (tmp_path / f"{name}{cpus}{'.elf' * (name == 'k')}").write_bytes(f"{name} of {cpus}".encode())
    images_of_session, cell = images(), own(tmp_path, PER_COUNT)
    made = [images_of_session.of(cell.system.at(cpus), cell.workload) for cpus in (1, 2, 1)]
    assert [dict(image.digests) for image in made] == [
        {
            name: sha256(f"{word} of {cpus}".encode())
            for name, word in (("kernel", "k"), ("initrd", "rd"), ("firmware", "fw"), ("disk0", "d"))
        }
        for cpus in (1, 2, 1)
    ]
    assert made[0] is made[2]


def test_what_is_missing_for_single_cpu_counts_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "k1.elf").write_bytes(b"elf")
    text = OWN.replace("kernel: k.elf", "kernel: 'k{n}.elf', initrd: 'rd{n}'")
    said = r"boot\.initrd: .*rd1, for 1 CPU; boot\.kernel: .*k4\.elf, for 4 CPUs; boot\.initrd: .*rd4,"
    with pytest.raises(BuildError, match=said):
        require_counts(own(tmp_path, text).system, {4, 1})
    require_counts(own(tmp_path, OWN).system, {4, 1})  # its one kernel is looked for when it is booted
    require_counts(own(tmp_path, BUILT_PER_COUNT).system, {4, 1})  # it is still to be built


BUILT_PER_COUNT = (
    OWN.replace("kernel: k.elf", "kernel: '{out}/k.elf'")
    + """\
build: {commands: [[sh, -c, "echo built for {n} > {out}/k.elf"]], sources: [mine.yaml]}
"""
)


def test_the_commands_build_a_kernel_for_each_cpu_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    cell = own(tmp_path, BUILT_PER_COUNT)
    kernels = [images().of(cell.system.at(cpus), cell.workload).kernel for cpus in (1, 2)]
    assert [kernel and kernel.read_text() for kernel in kernels] == ["built for 1\n", "built for 2\n"]
