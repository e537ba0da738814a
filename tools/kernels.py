"""Gates kernels from outside that the reader has built: `python -m tools.kernels xv6=FOLDER rt_linux=IMAGE`.

Takes NAME=PATH for each kernel of tests/kernels, and options for pytest; runs those kernels' gates on the
instruction clock and names the others as skipped. The path is what the kernel's system.yaml calls `source`: a
built source tree, or an image. Exits with pytest's status; with 5 if no kernel was given, and 4 if a name or
path is wrong. The sources, and how to build them, are no part of this repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchgate.base.arch import X86_64
from benchgate.base.paths import data_root
from benchgate.session.first_contact.linux import linux_text

REPO = Path(__file__).parents[1]
SUITE = REPO / "tests" / "kernels"
NOTHING_GIVEN = 5
LINUX = "rt_linux"


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
    return _run(given, options) if given else NOTHING_GIVEN


def _run(given: dict[str, str], options: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:
        for name, path in given.items():
            made = Path(folder) / name
            shutil.copytree(SUITE / name, made)
            (made / "source").symlink_to(Path(path).absolute())
            if name == LINUX:
                built_in = (data_root() / "fixtures" / "systems" / "linux.yaml").read_text()
                (made / "system.yaml").write_text(linux_text(built_in, LINUX, "source", X86_64))
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--clock", "insn"]
        where = ["--rootdir", folder, "--reports", str(REPO / "reports"), *options, folder]
        return subprocess.call([*argv, *where], cwd=folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
