"""Sources of Linux: the same files from a folder, a commit and a package; what is equal keeps its time."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from benchgate.base.errors import BuildError, FetchError, UsageError
from benchgate.build.fetch.store import FetchSession
from benchgate.features.linux_build import kernel_source
from benchgate.features.linux_build.kernel_source import LinuxSource, packaged

TEXTS = {
    "Makefile": "all:\n",
    "Kconfig": "config X\n",
    "kernel/sched/core.c": "int x;\n",
    "scripts/run.sh": "#!/bin/sh\n",
    "Documentation/Kconfig": "config D\n",
    "Documentation/book.rst": "words\n",
    "arch/x86/boot/a.c": "int a;\n",
    "arch/arm/boot/b.c": "int b;\n",
    "arch/Kconfig": "config A\n",
}
USED = TEXTS.keys() - {"Documentation/book.rst", "arch/arm/boot/b.c"}


def tree(folder: Path) -> Path:
    for name, text in TEXTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "scripts/run.sh").chmod(0o755)
    (folder / "scripts/link").symlink_to("run.sh")
    return folder


def git(folder: Path, *words: str) -> None:
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", folder, *named, *words], check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")


def repository(folder: Path) -> Path:
    git(tree(folder), "init", "-q")
    commit(folder)
    return folder


def packed(folder: Path, of: Path) -> LinuxSource:
    archive = folder / "linux.tar.xz"
    with tarfile.open(archive, "w:xz") as to:
        to.add(of, "linux-source-6.12", filter=lambda info: None if ".git" in info.name else info)
    return packaged("linux-source-6.12", archive, "digest", "label")


def find(word: str) -> LinuxSource:
    with FetchSession() as session:
        return kernel_source.find(word, locked=False, session=session)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where sources are written to."""
    (tmp_path / "work/tree").mkdir(parents=True)
    (tmp_path / "work" / kernel_source.MANIFEST).write_text("{}")
    return tmp_path / "work/tree"


def written(place: Path) -> dict[str, str]:
    paths = (path for path in place.rglob("*") if path.is_symlink() or path.is_file())
    return {
        str(path.relative_to(place)): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in paths
    }


def test_a_folder_a_commit_and_a_package_have_the_same_files(tmp_path: Path, place: Path) -> None:
    top = repository(tmp_path / "linux")
    due = {name: TEXTS[name] for name in USED} | {"scripts/link": "run.sh"}
    for source in (
        find(str(top)),
        find(f"{top}@HEAD"),
        packed(tmp_path, top),
        find(str(tree(tmp_path / "b"))),
    ):
        kernel_source.write(source, place)
        assert written(place) == due
        assert (place / "scripts/run.sh").stat().st_mode & 0o100
    assert find(f"{top}@HEAD").label == "Linux built from linux@HEAD"
    assert find(str(top)).label == "Linux built from linux"
    assert find(str(top)).digest == find(f"{top}@HEAD").digest == find(str(tmp_path / "b")).digest


def test_only_what_differs_is_written_again(tmp_path: Path, place: Path) -> None:
    top = repository(tmp_path / "linux")
    kernel_source.write(packed(tmp_path, top), place)
    (place / "kernel/sched/core.o").write_text("built")
    stamps = {name: (place / name).stat().st_mtime_ns for name in ("Makefile", "kernel/sched/core.c")}
    (top / "kernel/sched/core.c").write_text("int y;\n")
    (top / "arch/x86/boot/a.c").unlink()
    (top / "new.c").write_text("int z;\n")
    kernel_source.write(find(str(top)), place)
    after = written(place)
    assert (after["kernel/sched/core.c"], after["kernel/sched/core.o"]) == ("int y;\n", "built")
    assert ("arch/x86/boot/a.c" in after, "new.c" in after) == (False, True)
    assert (place / "Makefile").stat().st_mtime_ns == stamps["Makefile"]
    assert (place / "kernel/sched/core.c").stat().st_mtime_ns > stamps["kernel/sched/core.c"]
    kernel_source.write(find(f"{top}@HEAD"), place)
    assert written(place).keys() == {*USED, "scripts/link", "kernel/sched/core.o"}


def test_the_digest_is_that_of_names_modes_and_contents(tmp_path: Path) -> None:
    top = repository(tmp_path / "linux")
    known = {find(str(top)).digest}
    (top / "scripts/run.sh").chmod(0o644)
    known.add(find(str(top)).digest)
    (top / "scripts/run.sh").rename(top / "scripts/walk.sh")
    known.add(find(str(top)).digest)
    (top / "Documentation/book.rst").write_text("other words\n")
    known.add(find(str(top)).digest)
    assert len(known) == 3


def test_a_write_that_is_interrupted_goes_on_with_the_file_that_it_was_writing(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, put = packed(tmp_path, tree(tmp_path / "linux")), kernel_source._put
    names: list[str] = []

    def stop_in_the_fourth(path: Path, of: str, content: bytes) -> None:
        names.append(path.name)
        if len(names) < 4:
            return put(path, of, content)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel_source, "_put", stop_in_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        kernel_source.write(whole, place)
    due = {name: TEXTS[name] for name in USED} | {"scripts/link": "run.sh"}
    assert len(written(place)) == 4
    assert written(place).items() - due.items() != set()

    def go_on(path: Path, of: str, content: bytes) -> None:
        names.append(path.name)
        put(path, of, content)

    monkeypatch.setattr(kernel_source, "_put", go_on)
    kernel_source.write(whole, place)
    assert written(place) == due
    assert len(names) == len(due) + 1  # the fourth twice, and none of the others


def test_a_half_written_file_goes_if_the_next_source_does_not_have_it(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tree(tmp_path / "linux")
    kernel_source.write(find(str(top)), place)
    (top / "new.c").write_text("int z;\n")

    def half(path: Path, _: str, content: bytes) -> None:
        path.write_bytes(content[:3])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kernel_source, "_put", half)
        with pytest.raises(KeyboardInterrupt):
            kernel_source.write(find(str(top)), place)
    assert written(place)["new.c"] == "int"
    (top / "new.c").unlink()
    kernel_source.write(find(str(top)), place)
    assert "new.c" not in written(place)


def test_a_file_in_the_place_of_a_folder_is_no_reason_to_fail_for_ever(tmp_path: Path, place: Path) -> None:
    top = tree(tmp_path / "linux")
    (top / "was").mkdir()
    (top / "was/old.c").write_text("int x;\n")
    kernel_source.write(find(str(top)), place)
    shutil.rmtree(top / "was")
    (top / "was").write_text("a file now\n")
    with pytest.raises(OSError, match="was"):
        kernel_source.write(find(str(top)), place)
    assert not place.with_name(kernel_source.MANIFEST).exists(), "the folder would be used again"


def test_a_write_that_is_killed_is_told_by_the_missing_list(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = place.with_name(kernel_source.MANIFEST)
    seen: list[bool] = []
    put = kernel_source._put

    def look(path: Path, of: str, content: bytes) -> None:
        seen.append(manifest.exists())
        put(path, of, content)

    monkeypatch.setattr(kernel_source, "_put", look)
    kernel_source.write(packed(tmp_path, tree(tmp_path / "linux")), place)
    assert (set(seen), manifest.exists()) == ({False}, True)


def test_words_that_name_no_source_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no folder .*; give a source tree of Linux"):
        find(str(tmp_path / "gone"))
    top = repository(tmp_path / "linux")
    with pytest.raises(UsageError, match=r"git knows no revision `v9.9`"):
        find(f"{top}@v9.9")
    (top / "kernel/sched/core.c").unlink()
    with pytest.raises(UsageError, match=r"is not the source of Linux: it has no kernel/sched/core.c"):
        find(str(top))
    with FetchSession() as session, pytest.raises(FetchError, match="--locked allows pinned inputs only"):
        kernel_source.find(str(top), locked=True, session=session)


def test_a_commit_and_an_archive_that_are_no_linux_are_refused(tmp_path: Path, place: Path) -> None:
    top = repository(tmp_path / "linux")
    (top / "kernel/sched/core.c").unlink()
    commit(top)
    with pytest.raises(UsageError, match=r"@HEAD is not the source of Linux"):
        find(f"{top}@HEAD")
    with pytest.raises(UsageError, match=r"is not the source of Linux"):
        kernel_source.write(packed(tmp_path, top), place)


def test_a_tree_in_which_a_kernel_was_built_needs_git(tmp_path: Path) -> None:
    (tree(tmp_path / "linux") / ".config").touch()
    with pytest.raises(BuildError, match="give a copy in which nothing was built"):
        find(str(tmp_path / "linux"))


def test_a_built_checkout_has_its_sources_only(tmp_path: Path) -> None:
    top = tree(tmp_path / "linux")
    (top / ".gitignore").write_text("*.o\n.config\n")
    git(top, "init", "-q")
    commit(top)
    before = find(str(top)).digest
    (top / ".config").write_text("CONFIG_X=y\n")
    (top / "kernel/sched/core.o").write_text("built")
    assert find(str(top)).digest == before


def test_a_damaged_archive_names_no_traceback(tmp_path: Path, place: Path) -> None:
    archive = tmp_path / "linux.tar.xz"
    archive.write_bytes(b"no archive")
    with pytest.raises(BuildError, match=r"linux-source-6.12 cannot be unpacked"):
        kernel_source.write(packaged("linux-source-6.12", archive, "d", "l"), place)
