"""Images: what they are made from stands in their digests; a file that is not there is named with its key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import build, fetch
from benchgate.errors import BuildError
from benchgate.fetch import LinuxKernel
from benchgate.images import Images, guest_digest
from benchgate.model import Image
from benchgate.plan import PlannedCell
from tests.unit.plans import OWN, own_system, planned

LINUX = LinuxKernel(Path("/l/vmlinuz"), "6.12", "k" * 64, None, "c" * 64, ("unreviewed image",))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for fetching and building; hears what was asked for."""
    heard: list[str] = []

    def linux_kernel(path: Path | None, **_: object) -> LinuxKernel:
        heard.append(f"linux {path}")
        return LINUX

    def file(name: str) -> Path:
        heard.append(name)
        (tmp_path / name).write_bytes(name.encode())
        return tmp_path / name

    monkeypatch.setattr(fetch, "linux_kernel", linux_kernel)
    monkeypatch.setattr(build, "guest_program", lambda _: file("program"))
    monkeypatch.setattr(build, "linux_initramfs", lambda _: file("initrd"))
    return heard


def images() -> Images:
    return Images(None, False, lambda _: None)


def own(folder: Path, text: str = OWN) -> PlannedCell:
    return replace(planned(1), system=own_system(folder, text))


def test_the_linux_guest(made: list[str], tmp_path: Path) -> None:
    shelf = images()
    image = shelf.of(planned(1))
    assert (image.kernel, image.initrd, image.program) == (LINUX.image, tmp_path / "initrd", None)
    assert image.digests == {"kernel": "k" * 64, "kernel_config": "c" * 64, "initrd": sha256(b"initrd")}
    assert image.labels == ("unreviewed image",)
    assert shelf.of(planned(2)) is image
    assert made == ["linux None", "program", "initrd"]  # once a session


def test_native_is_the_program(made: list[str], tmp_path: Path) -> None:
    image = images().of(planned(1, system="native"))
    assert (image.kernel, image.initrd, image.program) == (None, None, tmp_path / "program")
    assert image.digests == {"program": sha256(b"program")}
    assert made == ["program"]


@pytest.mark.parametrize("rebuild", [lambda path: path.write_bytes(b"new"), Path.unlink])
def test_a_kernel_that_is_rebuilt_beside_a_session_is_not_booted(
    tmp_path: Path, rebuild: Callable[[Path], object]
) -> None:
    (tmp_path / "k.elf").write_bytes(b"elf")
    shelf, cell = images(), own(tmp_path)
    shelf.check(cell)
    (tmp_path / "k.elf").write_bytes(b"elf")  # linked anew, and the same
    shelf.check(cell)
    rebuild(tmp_path / "k.elf")
    with pytest.raises(BuildError, match=r"k\.elf was changed while primes-.* was being measured"):
        shelf.check(cell)


def test_a_users_kernel_beside_its_yaml(tmp_path: Path) -> None:
    (tmp_path / "k.elf").write_bytes(b"elf")
    image = images().of(own(tmp_path))
    assert (image.kernel, dict(image.digests), image.labels) == (
        tmp_path / "k.elf",
        {"kernel": sha256(b"elf")},
        (),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN, r"mine\.yaml: boot\.kernel: .*k\.elf does not exist; build it first"),
        (OWN.replace("k.elf", "."), r"mine\.yaml: boot\.kernel: .* cannot be read"),
        (
            OWN.replace("k.elf", "'{out}/k.elf'"),
            r"\{out\} is made by `build`, which is missing",
        ),
    ],
)
def test_a_kernel_that_is_not_there(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        images().of(own(tmp_path, text))


def test_an_initrd_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "k.elf").write_bytes(b"elf")
    text = OWN.replace("kernel: k.elf", "kernel: k.elf, initrd: rd")
    with pytest.raises(BuildError, match=r"boot\.initrd: .*rd does not exist"):
        images().of(own(tmp_path, text))


def test_a_kernel_that_its_own_commands_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.txt").write_text("made")
    text = OWN.replace("k.elf", "'{out}/k.elf'")
    text += "build: {commands: [[cp, k.txt, '{out}/k.elf']], folder: src, sources: [src]}\n"
    image = images().of(own(tmp_path, text))
    assert image.digests == {"kernel": sha256(b"made")}


def test_a_kernel_that_holds_the_workload_is_built_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    mine = tmp_path / "a b" / "sums.c"
    mine.parent.mkdir()
    mine.write_text("int sums;")
    text = OWN.replace("k.elf", "'{out}/k.elf'")
    text += "build: {commands: [[cp, '{source}', '{out}/k.elf'], [touch, '{out}/{workload}']]}\n"
    shelf, shipped = images(), own(tmp_path, text)
    other = replace(shipped, workload=replace(shipped.workload, name="sums", source=mine))
    assert shelf.of(other).digests == {"kernel": sha256(b"int sums;")}
    assert shelf.of(shipped).digests == {"kernel": sha256(shipped.workload.source.read_bytes())}
    kernel = shelf.of(other).kernel
    assert kernel is not None
    assert kernel.with_name("sums").is_file()
    mine.write_text("int changed;")
    assert images().of(other).digests == {"kernel": sha256(b"int changed;")}


def test_one_digest_for_all_that_a_guest_is_made_of() -> None:
    one = Image(None, None, None, {"b": "2", "a": "1"})
    assert guest_digest(one) == sha256(b"a=1\nb=2\n")
    assert guest_digest(replace(one, digests={"a": "1", "b": "3"})) != guest_digest(one)
