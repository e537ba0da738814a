"""Gates kernels from outside: `python -m tools.kernels xv6=FOLDER rt_linux=IMAGE`.

Takes NAME=PATH for each kernel of tests/kernels, and options for pytest; runs those kernels' gates on the
instruction clock and names the others as skipped. The path is what the kernel's system.yaml calls `source`: a
source tree, or an image. A tree in which the kernel is not built yet is copied and built by the kernel's
build.sh; one without a build.sh is skipped, which is said. Exits with pytest's status; with 5 if no kernel
could be gated, 4 if a name, a path or an image is wrong, and 1 if a build failed. The sources are no part of
this repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchgate.plan import systemfile

REPO = Path(__file__).parents[1]
SUITE = REPO / "tests" / "kernels"
OUR_PROGRAMS = REPO / "tests" / "data" / "kernels" / "xv6"
BUILD = "build.sh"
NOTHING_GATED = 5
LINUX = "rt_linux"
LAST_LINES = 15


def known() -> tuple[str, ...]:
    return tuple(sorted(path.name for path in SUITE.iterdir() if path.is_dir() and path.name[0] != "_"))


def main(words: Sequence[str]) -> int:
    given = dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("-"))
    options = [word for word in words if word.partition("=")[0] not in given]
    for name, path in given.items():
        if name not in known() or not Path(path).exists():
            what = f"known: {', '.join(known())}" if name not in known() else f"{path} does not exist"
            print(f"kernels: {name}: {what}", file=sys.stderr)
            return 4
    for name in known():
        if name not in given:
            print(f"kernels: {name} is skipped; give {name}=PATH")
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:
        return _gated({name: Path(path).absolute() for name, path in given.items()}, Path(folder), options)


def _gated(given: dict[str, Path], folder: Path, options: Sequence[str]) -> int:
    for name, path in given.items():
        made = folder / name
        shutil.copytree(SUITE / name, made)
        if _is_built(name, path) or "--plan" in options:
            (made / "source").symlink_to(path)
        elif not (made / BUILD).exists():
            print(f"kernels: {name} is skipped: it is not built in {path}; build it by its own instructions")
            shutil.rmtree(made)
        elif status := _build(name, path, made):
            return status
        if name == LINUX and (status := _described(made)):
            return status
    return _pytest(folder, options) if any(folder.iterdir()) else NOTHING_GATED


def _described(made: Path) -> int:
    words = ["new-system", str(made / "source"), "--name", LINUX, "--out", str(made / "system.yaml")]
    return subprocess.call([sys.executable, "-m", "benchgate", *words], stdout=subprocess.DEVNULL)


def _is_built(name: str, path: Path) -> bool:
    """Linux is given as an image; the others are where their system.yaml says."""
    if name == LINUX:
        return True
    kernel = systemfile.load(SUITE / name / "system.yaml").boot.kernel
    return (path / Path(kernel).relative_to("source")).exists()


def _build(name: str, path: Path, made: Path) -> int:
    """Builds a copy of the sources, so that the user's tree stays as it is."""
    print(f"kernels: {name}: building a copy of {path}")
    shutil.copytree(path, made / "source", symlinks=True)
    words = ["sh", "-eu", str(made / BUILD), str(OUR_PROGRAMS)]
    done = subprocess.run(
        words, cwd=made / "source", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode == 0 and _is_built(name, made / "source"):
        return 0
    last = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
    script = SUITE / name / BUILD
    print(
        f"kernels: {name}: {script} failed with {done.returncode}; it printed last:\n{last}", file=sys.stderr
    )
    return 1


def _pytest(folder: Path, options: Sequence[str]) -> int:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--clock", "insn"]
    where = ["--rootdir", str(folder), "--reports", str(REPO / "reports"), *options, str(folder)]
    return subprocess.call([*argv, *where], cwd=folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
