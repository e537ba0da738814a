"""Builds guest programs, the Linux guest's initramfs and a system's kernel, each once per set of inputs.

Takes a workload, a program or a system's `build:` commands; gives paths inside the cache. The cache key
contains the digests of all sources, the flags and the compiler. Fails with BuildError, which has the
compiler's first lines.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache as once
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from benchgate.base.errors import BuildError
from benchgate.base.files import file_digest, tree_digest
from benchgate.base.paths import data_root
from benchgate.base.text import filled
from benchgate.base.workload.workloads import Workload
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import Block, Text, Texts, YamlFile, each
from benchgate.build import cache, toolchain
from benchgate.build.revision import Sources, exported
from benchgate.build.toolchain import Compiler

_COMPILE_S = 120.0
_NOT_SOURCES = (".git", "__pycache__", "out")
"""Names in a source folder that are not inputs of its build."""


RECIPES = YamlFile(
    "How the guest's programs are built.",
    name="build",
    title="Programs of the guest",
    places=("guest/build.yaml",),
    forms=(
        {
            "common": Texts("the flags of every source", default=()),
            "portable": Texts("more flags of sources that run on every system", default=()),
            "link": Texts("the flags of the linker", default=()),
            "machine": each("more flags for `portable`", Texts("the flags"), names="ARCH", otherwise=""),
            "services": each(
                "the sources that only a workload which needs the service has", Texts("the sources")
            ),
            "programs": each(
                "the programs",
                Block(
                    "a program",
                    forms=(
                        {
                            "like": Text("it has the sources of this one, too", default=""),
                            "portable": Texts("sources that run on every system", default=()),
                            "hosted": Texts("sources that need Linux", default=()),
                            "flags": Texts("more flags of all its sources", default=()),
                        },
                    ),
                ),
            ),
        },
    ),
)


SourceFlags = tuple[str, tuple[str, ...]]
"""A source, and the flags with which it is compiled."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One program of guest/build.yaml: every source with its flags, and how they are linked."""

    sources: tuple[SourceFlags, ...]
    link: tuple[str, ...]
    services: Mapping[str, tuple[SourceFlags, ...]]
    """Maps a service to the sources that a program has only if its workload needs the service."""

    def serving(self, needs: Collection[str]) -> Recipe:
        """The recipe of a workload that needs these services. Other programs keep every byte."""
        more = sorted(name for name in self.services if name in needs)
        flags = tuple(f"-DBENCH_NEEDS_{name.upper()}" for name in more)
        sources = [*self.sources, *(service for name in more for service in self.services[name])]
        return replace(self, sources=_with_flags(sources, flags))


def _with_flags(sources: Iterable[SourceFlags], more: tuple[str, ...]) -> tuple[SourceFlags, ...]:
    return tuple((source, flags + more) for source, flags in sources)


def guest_program(workload: Workload, compiler: Compiler | None = None) -> Path:
    """The static Linux binary of a workload: /bench in the guest, and the program that `native` runs.
    `compiler` is that for the guest's architecture; by default this host's."""
    return _program("bench", workload.program, _source_of(workload), compiler, workload.services)


def tool_program(workload: Workload, description: Path) -> Path:
    """The binary for a workload that is an existing program; `description` is the C file about it."""
    return _program("tool", workload.name, description, None)


def part_program(workload: Workload, description: Path | None = None) -> Path:
    """The binary without marks, for a part of a mix; `description` is the C file about a program."""
    source = description or _source_of(workload)
    program = "part-tool" if description else "part"
    return _program(program, workload.name, source, None, workload.services)


INIT, TUNED_INIT = "init", "init-tuned"


def init(compiler: Compiler | None = None, first: str = INIT) -> Path:
    """Builds PID 1 of the Linux guest, or a variant of it."""
    return _program(first, first, None, compiler)


def start(compiler: Compiler | None = None) -> Path:
    """The archive with the PID 1 that waits in a snapshot for the archive of its run."""
    program = _program("start", "start", None, compiler)
    key = {"format": "newc-1", "init": file_digest(program)}
    return cache.file_of("initramfs", key, "start.cpio", lambda: initramfs({"init": program.read_bytes()}))


def conductor() -> Path:
    """Builds the conductor, which runs the parts of a mix at once as /bench of the guest."""
    return _program("mix", "mix", None, None)


def linux_initramfs(
    program: Path,
    more: Mapping[str, Path] = MappingProxyType({}),
    compiler: Compiler | None = None,
    *,
    first: str = INIT,
) -> Path:
    """The archive with `program` as /bench, our PID 1, and `more` files by their place. It is not compressed,
    which saves time in the guest."""
    content = {**more, "init": init(compiler, first), "bench": program}
    key = {"format": "newc-1", **{name: file_digest(path) for name, path in content.items()}}

    def archive() -> bytes:
        return initramfs({name: path.read_bytes() for name, path in content.items()})

    return cache.file_of("initramfs", key, "initramfs.cpio", archive)


def compiled(  # noqa: PLR0913 - what a compiler command consists of
    kind: str,
    name: str,
    folder: Path,
    inputs: Sequence[str],
    flags: Sequence[str],
    *,
    compiler: Compiler | None = None,
) -> Path:
    """The file `name` that one compiler command in `folder` makes from the .c and .S files among `inputs`."""
    compiler = compiler or toolchain.compiler()
    key = {text: file_digest(folder / text) for text in inputs}
    key |= {"compiler": compiler.identity, "flags": " ".join(flags), "name": name}
    sources = [text for text in inputs if text.endswith((".c", ".S"))]

    def make(files: Path) -> None:
        argv = [*compiler.argv, *flags, "-o", str(files / name), *sources]
        toolchain.run_all([argv], folder, name, _COMPILE_S)

    return cache.entry(kind, key, make) / name


def run_build(  # noqa: PLR0913 - a build has this many inputs
    commands: Sequence[Sequence[str]],
    folder: Path,
    sources: Sequence[Path],
    *,
    name: str,
    workload: Workload | None = None,
    files: Sequence[Path] = (),
    commit: Sources | None = None,
    parts: Sequence[Workload] = (),
    part: Sequence[Sequence[str]] = (),
    timeout_s: float = 900.0,
) -> Path:
    """Runs a system's build commands in `folder`; gives the folder that replaces `{out}` in them.

    With a workload, which must have a C file, `{source}` is that file and `{workload}` its name. With a
    commit the commands run among its files instead. `files` are other files that the commands read. `part`
    are commands that run before these, once for each of `parts`.
    """
    covered = [source for source in sources if commit is not None and commit.covers(source)]
    sources = [*(source for source in sources if source not in covered), *files]
    for source in sources:
        if not source.exists():
            raise BuildError(f"building {name}: there is no source {source}; correct the key `build.sources`")
    key = {
        "name": name,
        "commands": json.dumps([list(argv) for argv in commands]),
        "compiler": toolchain.compiler().identity,
        "sources": json.dumps([_source_digest(source) for source in sources]),
    }
    if commit is not None:
        key["folder"] = str(commit.folder)
        key["revision"] = json.dumps([[commit.below(path), commit.content(path)] for path in covered])

    if workload is not None:
        key |= {"workload": workload.program, "source": _digest_with_headers(_source_of(workload))}
    if parts:
        named = [[one.name, _digest_with_headers(_source_of(one))] for one in parts]
        key["parts"] = json.dumps([named, [list(argv) for argv in part]])
    steps = [(argv, one) for one in parts for argv in part] + [(argv, workload) for argv in commands]

    def make(files: Path) -> None:
        argvs = [[filled(word, _values(one, files)) for word in argv] for argv, one in steps]
        # This folder is beside the result, so that its path, which binaries may contain, is always the same.
        place = exported(commit, files.parent / "tree") if commit else nullcontext(folder)
        with place as where:
            toolchain.run_all(argvs, where, name, timeout_s)
        if not any(files.iterdir()):
            raise BuildError(
                f"building {name}: the commands succeeded but wrote nothing into {{out}}; correct them"
            )

    return cache.entry("system", key, make, wait_s=timeout_s + 60)


def _values(workload: Workload | None, out: Path) -> Mapping[str, str]:
    """The values of the words in braces in a system's build commands."""
    values = {"out": str(out)}
    if workload is not None:
        values |= {"source": str(_source_of(workload)), "workload": workload.program}
    return values


def _source_of(workload: Workload) -> Path:
    if not workload.source.is_file():
        raise BuildError(f"workload {workload.name}: there is no source file {workload.source}")
    return workload.source.absolute()


def _digest_with_headers(source: Path) -> str:
    """The digest of a workload's C file and of the headers beside it, which it may include."""
    headers = sorted(source.parent.glob("*.h"))
    return " ".join([file_digest(source), *(f"{header.name}:{file_digest(header)}" for header in headers)])


def _source_digest(source: Path) -> str:
    try:
        return file_digest(source) if source.is_file() else tree_digest(source, _NOT_SOURCES)
    except OSError as error:
        raise BuildError(
            f"the source {error.filename or source} cannot be read: {error.strerror}; "
            "move it out of the sources of the build, or correct the key `build.sources`"
        ) from error


def _program(
    program: str,
    name: str,
    workload: Path | None,
    compiler: Compiler | None,
    needs: Collection[str] = (),
) -> Path:
    guest = data_root() / "guest"
    compiler = compiler or toolchain.compiler()
    recipe = _recipes(guest / "build.yaml", compiler.guest.name).get(program)
    if recipe is None:
        raise BuildError(f"{guest / 'build.yaml'} has no program `{program}`; reinstall pytest-benchgate")
    recipe = recipe.serving(needs)
    key = {
        "program": program,
        "name": name,
        "workload": _digest_with_headers(workload) if workload else "",
        # Without the workloads: adding one must not rebuild the others.
        "guest": tree_digest(guest, (*_NOT_SOURCES, "workloads")),
        "recipe": repr(recipe),
        "compiler": compiler.identity,
    }

    def make(files: Path) -> None:
        commands = _commands(recipe, compiler.argv, guest, workload, files / program)
        toolchain.run_all(commands, guest, name, _COMPILE_S)
        for path in files.glob("*.o"):
            path.unlink()

    return cache.entry("guest", key, make) / program


def _commands(
    recipe: Recipe, compiler: tuple[str, ...], guest: Path, workload: Path | None, target: Path
) -> list[list[str]]:
    """Commands that compile each source, then link. No path of this host gets into the binary."""
    folders = [guest, *([workload.parent] if workload else [])]
    maps = [f"-ffile-prefix-map={folder}=." for folder in folders]
    commands, objects = [], []
    for number, (source, flags) in enumerate(recipe.sources):
        path = str(workload) if source == "{workload}" else source
        objects.append(f"{target}-{number}.o")
        commands.append([*compiler, *flags, *maps, f"-I{guest}", "-c", path, "-o", objects[-1]])
    commands.append([*compiler, *recipe.link, *objects, "-o", str(target)])
    return commands


@once
def _recipes(path: Path, guest: str) -> dict[str, Recipe]:
    """The programs for guests of this architecture."""
    top = yamlfile.load(path, RECIPES)
    common, portable, link = top.texts("common"), top.texts("portable"), top.texts("link")
    with top.optional("machine") as machine:
        if guest not in machine.keys():  # noqa: SIM118 - a Section, not a dict
            top.fail(f"has no flags for {guest}", "machine")
        portable += machine.texts(guest)
    with top.optional("services") as words:
        services = {name: tuple((text, common) for text in words.texts(name)) for name in words.keys()}  # noqa: SIM118
    recipes: dict[str, Recipe] = {}
    with top.optional("programs") as programs:
        for name in programs.keys():  # noqa: SIM118 - a Section, not a dict
            with programs.optional(name) as words:
                other = recipes.get(words.text("like"))
                sources = [*other.sources] if other else []
                sources += [(text, common + portable) for text in words.texts("portable")]
                sources += [(text, common) for text in words.texts("hosted")]
                flags = words.texts("flags")
                own = {one: _with_flags(of, flags) for one, of in services.items()}
                recipes[name] = Recipe(_with_flags(sources, flags), link, own)
    top.close()
    return recipes


# ---- the archive: format `newc`, in Linux: Documentation/driver-api/early-userspace/buffer-format.rst


def initramfs(programs: dict[str, bytes]) -> bytes:
    """An archive with the executable programs at their places. Equal programs give equal bytes."""
    folders = {str(parent) for name in programs for parent in PurePosixPath(name).parents} - {"."}
    entries = [("dev", 0o040755, (0, 0), b""), ("dev/console", 0o020600, (5, 1), b"")]
    entries += [(name, 0o040755, (0, 0), b"") for name in sorted(folders)]  # a folder comes before its files
    entries += [(name, 0o100755, (0, 0), content) for name, content in sorted(programs.items())]
    records = [_record(number, *entry) for number, entry in enumerate(entries, 1)]
    archive = b"".join(records) + _record(0, "TRAILER!!!", 0, (0, 0), b"")
    return archive + b"\0" * (-len(archive) % 512)


def _record(number: int, name: str, mode: int, device: tuple[int, int], content: bytes) -> bytes:
    links = 2 if mode & 0o040000 and not mode & 0o100000 else 1
    path = name.encode() + b"\0"
    # inode, mode, uid, gid, links, mtime, size, device of the file system, device of the node, name size, sum
    fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % value for value in fields) + path
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)
