"""The files of `benchgate init`, made from those in fixtures/init, and the YAML of a system to begin with.

Takes a folder, and the name of a workload or the path of a kernel; gives lines that say what was written and
what to run next. It never replaces a file. In the YAML of a system what is known holds, and every other key
of the table is a comment. Fails with UsageError if a file exists or cannot be written, or if a name or a
kernel is unsuitable.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchgate import hooks
from benchgate.base.errors import UsageError
from benchgate.base.paths import data_root
from benchgate.base.system.arch import X86_64
from benchgate.base.system.boots import CPUS
from benchgate.base.system.systems import SELFTEST
from benchgate.base.yaml.keys import NAME, Block, Key, Table
from benchgate.build.kernel_file import KernelFile, Media, look, system_name
from benchgate.plan import catalog
from benchgate.plan.system_keys import SYSTEM

HEAD = """\
# Keys in comments are not set. A value there is what holds; without one the words behind it say what holds.
# `benchgate docs yaml-system` also has the keys of lists, and of names that you choose.
"""
_COLUMN = 34
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+\Z")
Known = Mapping[str, "str | Known"]
"""Values by key; a mapping for a block."""
TEST = "test_scaling.py"
EXAMPLE = "sums"
"""The workload in fixtures/init; `init` writes it under another name."""


def write_test(folder: Path) -> list[str]:
    path = folder / TEST
    _create(path, _text(TEST))
    return [*_ignored(folder), f"wrote {path}; run: {_command('pytest', path)}"]


def write_workload(folder: Path, name: str) -> list[str]:
    if not NAME.match(name):
        above, _, own = name.rpartition("/")
        hint = (
            f"; next: benchgate init {shlex.quote(above)} --workload {own}"
            if NAME.match(own) and above
            else ""
        )
        rule = "use lower-case letters, digits and _, beginning with a letter"
        raise UsageError(f"--workload {name}: {rule}{hint}")
    if name in (*catalog.names("workload"), SELFTEST):
        raise UsageError(f"--workload {name}: benchgate has a workload of this name; choose another")
    with _refusals(folder / name):
        (folder / name).mkdir(parents=True)
    paths = []
    for file in (f"{EXAMPLE}.c", "workload.yaml", "oracle.py", f"test_{EXAMPLE}.py"):
        paths.append(folder / name / _renamed(file, name))
        _create(paths[-1], _renamed(_text(f"{EXAMPLE}/{file}"), name))
    lines = [f"wrote {path}" for path in paths]
    return [*_ignored(folder), *lines[:-1], f"{lines[-1]}; run: {_command('pytest', paths[-1])}"]


def write_system(folder: Path, kernel: Path) -> list[str]:
    """The YAML of a kernel that is asked by its command line; a command of a feature may know the others."""
    file, name = look(Path(str(kernel).replace(CPUS, "1"))), system_name(kernel)
    out = folder / f"{name}.yaml"
    if file.media is Media.NONE:
        raise UsageError(f"{kernel}: is {file.about}: {file.advice}")
    if file.is_linux or file.media is not Media.KERNEL:
        raise UsageError("; next: ".join([f"{kernel}: is {file.about}", *_described(kernel, out)]))
    _create(out, _schema_line(out) + skeleton(name, os.path.relpath(kernel, folder), file.arch))
    plan = _command("pytest", "--plan", "--system", out, folder / TEST)
    first = [] if (folder / TEST).exists() else [f"run: {_command('benchgate', 'init', folder)}"]
    return [
        f"wrote {out}; its comments name every key",
        *_lacking(file),
        *first,
        f"{'then' if first else 'run'}: {plan}",
        *(f"or let boots fill one in: {word}" for word in _described(kernel, folder / f"{name}-booted.yaml")),
    ]


def _described(kernel: Path, out: Path) -> list[str]:
    """The commands that boot the kernel and write its YAML."""
    return [_command("benchgate", name, kernel, "--out", out) for name in hooks.describes_kernels()]


def _lacking(file: KernelFile) -> list[str]:
    return [] if file.arch else ["the kernel's file does not say for which processor it is: set `arch`"]


def _schema_line(out: Path) -> str:
    """Lets an editor complete the file, in a checkout: from elsewhere there is no path that lasts."""
    root, place = data_root().resolve(), out.parent.resolve()
    if not place.is_relative_to(root):
        return ""
    schema = os.path.relpath(root / "fixtures" / "schema" / "system.json", place)
    return f"# yaml-language-server: $schema={schema}\n"


def _renamed(text: str, name: str) -> str:
    return re.sub(rf"(?<![a-z]){EXAMPLE}(?![a-z])", name, text)


def _text(file: str) -> str:
    return (data_root() / "fixtures" / "init" / file).read_text(encoding="utf-8")


def _command(*words: str | Path) -> str:
    return shlex.join(map(str, words))


def _ignored(folder: Path) -> list[str]:
    """Keeps out of git what sessions write, unless there are such rules already."""
    path = folder / ".gitignore"
    if os.path.lexists(path):
        return []
    _create(path, _text("gitignore"))
    return [f"wrote {path}"]


def _create(path: Path, text: str) -> None:
    with _refusals(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise UsageError(f"{error.filename} already exists; it was not changed") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def skeleton(name: str, kernel: str, arch: str) -> str:
    """`kernel` is relative to the file. `arch` may be empty: the default is in a comment then."""
    known: Known = {"version": "1", "name": name, "kind": "qemu", "boot": {"kernel": _scalar(kernel)}}
    if arch not in ("", X86_64.name):
        known = {**known, "arch": arch}
    lines = (f"{text:{_COLUMN}}  # {about}\n" for text, about in _lines(SYSTEM.forms[0], known))
    return HEAD + "".join(lines)


def _lines(table: Table, known: Known, indent: str = "") -> Iterator[tuple[str, str]]:
    """Each key with what stands behind it."""
    for key, row in table.items():
        match known.get(key):
            case str(value):
                yield f"{indent}{key}: {value}", row.about
            case None:
                yield from ((f"{indent}# {text}", about) for text, about in _unset(key, row))
            case inner:
                yield f"{indent}{key}:", row.about
                yield from _lines(_inner(row), inner, f"{indent}  ")


def _unset(key: str, row: Key) -> Iterator[tuple[str, str]]:
    inner = _inner(row)
    otherwise = f"; without it: {row.otherwise}" if row.otherwise and not inner else ""
    yield f"{key}: {_default(row)}".rstrip(), row.about + otherwise
    for name, one in inner.items():
        yield from ((f"  {text}", about) for text, about in _unset(name, one))


def _inner(row: Key) -> Table:
    """The keys of a block, if they are the same in every file."""
    return row.forms[0] if isinstance(row, Block) and len(row.forms) == 1 else {}


def _default(row: Key) -> str:
    if row.default is None:
        return ""
    if isinstance(row.default, tuple):
        return f"[{', '.join(map(_scalar, row.default))}]"
    return _scalar(row.default)


def _scalar(value: object) -> str:
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    return text if _PLAIN.match(text) else json.dumps(text, ensure_ascii=False)
