"""The source of a Linux kernel: a folder, a git revision of one, or the distribution's own source package.

Takes a word (`PATH`, `PATH@REVISION` or `linux-source-6.12`); gives a `LinuxSource`. `write` writes the files
that a build needs into a folder. Those that are there already and are equal keep their time, so that make
builds only what differs, whichever source was written there before. Fails with BuildError or FetchError, and
with UsageError if the word names no source of Linux.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import stat
import subprocess
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from benchgate.base.errors import BuildError, FetchError, UsageError
from benchgate.base.files import file_digest
from benchgate.base.text import one_line
from benchgate.build import revision
from benchgate.build.fetch import newest, store
from benchgate.build.fetch.apt import Apt
from benchgate.build.fetch.pins import Pin, PinnedSet
from benchgate.build.fetch.sources import Release
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.unpack import unpack

KIND = "linux-source"
PACKAGE = re.compile(r"linux-source-[0-9]+\.[0-9]+")
REVIEWED = "linux-source-6.12"
"""The package that fixtures/linux-source.lock has versions of."""
MANIFEST = "manifest.json"
_ARCHIVE = "linux.tar.xz"
_OTHER_ARCHITECTURES = re.compile(r"arch/(?!x86/|um/|Kconfig$)")
_UNUSED = re.compile(r"(?:Documentation|tools/testing|drivers/gpu/drm/amd)/")
"""Folders that no small guest needs, but for their Kconfig. They are half of the files."""
_LINK, _PROGRAM, _FILE = "120000", "100755", "100644"


class SourceFile(NamedTuple):
    """A file of the source. `identity` is its mode and git's name of its content; `content` reads it."""

    name: str
    identity: str
    content: bytes | None
    """None: it is read only if it is needed."""


@dataclass(frozen=True, slots=True)
class LinuxSource:
    word: str
    """How the user names it."""
    digest: str
    """Equal digests mean equal files."""
    label: str
    """What every row says of a kernel that is built of it."""
    files: Callable[[], Iterable[SourceFile]]
    """Gives all files that a build may need, in any order."""
    read: Callable[[list[str]], Iterable[bytes]] = lambda _: ()
    """Gives the contents of files that `files` gave without their content."""


def find(word: str, *, locked: bool, session: FetchSession) -> LinuxSource:
    if PACKAGE.fullmatch(word):
        return _fetched(word, locked=locked, session=session)
    if locked:
        raise FetchError(f"--locked allows pinned inputs only, and {word} is none: leave out one of them")
    path, at, commit = word.rpartition("@")
    has_commit = at and not Path(word).exists()
    folder = _linux_folder(path if has_commit else word, word)
    known = _committed(folder, revision.commit_of(folder, commit)) if has_commit else _present(folder)
    _require_linux(word, known)

    def files() -> Iterator[SourceFile]:
        return (SourceFile(name, value, None) for name, value in known.items())

    def read(names: list[str]) -> Iterable[bytes]:
        if has_commit:
            return _of_commit(word, folder, {name: known[name] for name in names})
        return (_content(folder / name) for name in names)

    return LinuxSource(word, _digest(known), f"Linux built from {Path(word).name}", files, read)


def _require_linux(word: str, names: Collection[str]) -> None:
    """Before it is written into the folder in which all builds are made: that would remove what is there."""
    if not {"Kconfig", "Makefile", "kernel/sched/core.c"} <= set(names):
        raise UsageError(f"{word} is not the source of Linux: it has no kernel/sched/core.c")


def _linux_folder(path: str, word: str) -> Path:
    folder = Path(path).expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(
            f"{word}: there is no folder {folder}; give a source tree of Linux, PATH@REVISION of a git "
            "repository, or the name of a package such as linux-source-6.12"
        )
    return folder


def is_used(name: str) -> bool:
    if name.rpartition("/")[2].startswith("Kconfig"):
        return True
    return not (_UNUSED.match(name) or _OTHER_ARCHITECTURES.match(name))


def identity(mode: str, content: bytes) -> str:
    head = b"blob %d\0" % len(content)
    return f"{mode} {hashlib.sha1(head + content, usedforsecurity=False).hexdigest()}"


def _digest(files: Mapping[str, str]) -> str:
    text = "".join(f"{name}\0{files[name]}\n" for name in sorted(files))
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def write(source: LinuxSource, folder: Path) -> None:
    """Makes the folder's source files those of `source`. The list of them is beside the folder only while it
    is right: without it, this or a build was killed."""
    manifest = folder.with_name(MANIFEST)
    listed: dict[str, str] = json.loads(manifest.read_text())
    manifest.unlink()
    try:
        _update(source, folder, listed)
    except OSError:  # such as a folder where the new source has a file: the next build begins anew
        raise
    except BaseException:
        save_list(manifest, listed)
        raise
    save_list(manifest, listed)


def save_list(manifest: Path, listed: Mapping[str, str]) -> None:
    """It is never half written."""
    part = manifest.with_suffix(".part")
    part.write_text(json.dumps(listed))
    part.replace(manifest)


def _update(source: LinuxSource, folder: Path, listed: dict[str, str]) -> None:
    """The list follows each file. One that is being written is in it without an identity."""
    old, new, late = dict(listed), {}, []

    def put(name: str, of: str, content: bytes) -> None:
        listed[name] = ""
        _put(folder / name, of, content)
        listed[name] = of

    for file in source.files():
        new[file.name] = file.identity
        if old.get(file.name) == file.identity:
            continue
        if file.content is None:
            late.append(file)
        else:
            put(file.name, file.identity, file.content)
    for file, content in zip(late, source.read([one.name for one in late]), strict=True):
        if identity(file.identity.partition(" ")[0], content) != file.identity:
            raise BuildError(f"{source.word}: {file.name} has changed while it was read: run this again")
        put(file.name, file.identity, content)
    for name in old.keys() - new.keys():
        (folder / name).unlink(missing_ok=True)
        del listed[name]
    _require_linux(source.word, new)


def _put(path: Path, of: str, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if of.startswith(_LINK):
        path.symlink_to(os.fsdecode(content))
        return
    path.write_bytes(content)
    if of.startswith(_PROGRAM):
        path.chmod(0o755)


# ---- a folder


def _content(path: Path) -> bytes:
    try:
        return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
    except OSError as error:
        raise BuildError(f"the source {path} cannot be read: {error.strerror}") from error


def _present(folder: Path) -> dict[str, str]:
    """The identities of the files as they are in a folder now."""
    if (folder / ".git").exists():
        indexed = _indexed(folder)
        changed = {*_listed(folder, "diff-files", "--name-only", "-z")}
        changed |= {*_listed(folder, "ls-files", "--others", "--exclude-standard", "-z")}
    else:
        if (folder / "include/config").exists() or (folder / ".config").exists():
            raise BuildError(
                f"a kernel was built in {folder}, whose files cannot be told from the source: "
                "give a copy in which nothing was built, or a git checkout"
            )
        indexed, changed = {}, set(_walked(folder))
    result = {name: value for name, value in indexed.items() if name not in changed}
    for name in sorted(filter(is_used, changed)):
        path = folder / name
        if os.path.lexists(path) and not (path.is_dir() and not path.is_symlink()):
            result[name] = identity(_mode(path), _content(path))
    return result


def _mode(path: Path) -> str:
    mode = path.lstat().st_mode
    return _LINK if stat.S_ISLNK(mode) else _PROGRAM if mode & stat.S_IXUSR else _FILE


def _walked(folder: Path) -> Iterator[str]:
    for base, folders, names in os.walk(folder):
        here = Path(base).relative_to(folder)
        for name in list(folders):
            if Path(base, name).is_symlink():
                names.append(name)
        yield from (str(here / name) for name in names)


def _git(folder: Path, *words: str) -> bytes:
    done = revision.git(folder, *words)
    if done.returncode:
        raise BuildError(f"git cannot read {folder}: {one_line(done.stderr)}")
    return done.stdout.encode(errors="surrogateescape")


def _listed(folder: Path, *words: str) -> list[str]:
    return [os.fsdecode(name) for name in _git(folder, *words).split(b"\0") if name]


def _indexed(folder: Path) -> dict[str, str]:
    """The identities in git's index."""
    result = {}
    for line in _listed(folder, "ls-files", "--stage", "-z"):
        about, _, name = line.partition("\t")
        mode, blob, _ = about.split(" ")
        if is_used(name):
            result[name] = f"{mode} {blob}"
    return result


# ---- a commit


def _committed(folder: Path, commit: str) -> dict[str, str]:
    """The identities of the files of a commit, which need not be checked out."""
    result = {}
    for line in _listed(folder, "ls-tree", "-r", "-z", "--full-tree", commit):
        about, _, name = line.partition("\t")
        mode, kind, blob = about.split(" ")
        if kind == "blob" and is_used(name):
            result[name] = f"{mode} {blob}"
    return result


def _of_commit(word: str, folder: Path, known: Mapping[str, str]) -> Iterator[bytes]:
    """The contents of files by their identity."""
    argv = ("git", "-C", str(folder), "cat-file", "--batch", "--buffer")
    with TemporaryFile() as asked:
        asked.writelines(f"{value.partition(' ')[2]}\n".encode() for value in known.values())
        asked.seek(0)
        with subprocess.Popen(argv, stdin=asked, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for name in known:
                words = process.stdout.readline().split()
                if len(words) != 3:
                    raise BuildError(f"{word}: git has no content of {name}: run `git fsck`")
                yield process.stdout.read(int(words[2]) + 1)[:-1]


# ---- the distribution's own package


def packaged(word: str, archive: Path, digest: str, label: str) -> LinuxSource:
    """The archive in a package, which is unpacked only for a build."""

    def files() -> Iterator[SourceFile]:
        try:
            yield from _members(archive)
        except (lzma.LZMAError, tarfile.TarError, EOFError) as error:
            raise BuildError(f"{word} cannot be unpacked: {error}") from error

    return LinuxSource(word, digest, label, files)


def _members(path: Path) -> Iterator[SourceFile]:
    with lzma.open(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if not is_used(name) or not (member.isreg() or member.issym()):
                continue
            opened = archive.extractfile(member) if member.isreg() else None
            content = os.fsencode(member.linkname) if opened is None else opened.read()
            mode = _LINK if opened is None else _PROGRAM if member.mode & 0o100 else _FILE
            yield SourceFile(name, identity(mode, content), content)


def _fetched(package: str, *, locked: bool, session: FetchSession) -> LinuxSource:
    newest = partial(newest_set, package)
    kept = store.fetch(KIND, newest, _fill, locked=locked, session=session, first=package)
    label = " ".join((f"{package} {kept.about['version']}", *kept.labels))
    return packaged(package, kept.folder / _ARCHIVE, kept.about["digest"], label)


def newest_locks(client: Apt, release: Release) -> Iterator[tuple[str, PinnedSet]]:
    """The reviewed package is Debian's."""
    if release.family == "debian":
        yield KIND, newest_set(REVIEWED, client, release)


def newest_set(package: str, client: Apt, release: Release) -> PinnedSet:
    result = next(iter(client.versions(package)), None)
    if result is None:
        advice = "`apt-cache search linux-source` lists those that there are, or give a source tree of Linux"
        raise FetchError(f"this host's package source has no {package}; {advice}")
    return PinnedSet(release.name, newest.upstream(result.version), (Pin(result),))


def _fill(client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    (pin,) = packages.pins
    for path in client.download([pin.package]):
        unpack(path, files, _choose)
    archive = files / _ARCHIVE
    if not archive.is_file():
        raise FetchError(f"{pin.package.name} {pin.package.version} has no archive linux-source-*.tar.xz")
    return {"digest": file_digest(archive)}


def _choose(member: str) -> str | None:
    return _ARCHIVE if re.fullmatch(r"usr/src/linux-source-[^/]+\.tar\.xz", member) else None
