"""`benchgate build-linux SOURCE`: builds a Linux kernel that boots as our guest, and prints where it is.

Takes a source tree, a git revision or a package of the distribution, and a configuration; gives the kernel's
files in the cache, or copies of them in a folder. Exit status 0; BuildError has what the configuration lacks,
or the compiler's first lines. If it is interrupted, the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    about = "PATH, PATH@REVISION, or a package: linux-source-6.12"
    parser.add_argument("source", metavar="SOURCE", help=about)
    about = (
        "what is put over our small base: names of our parts (sched_ext, realtime, debug) and paths of your "
        "own files, joined by + (default: sched_ext)"
    )
    parser.add_argument("--config", metavar="FILE", help=about)
    about = "copy vmlinux, bzImage, System.map, config there"
    parser.add_argument("--out", type=Path, metavar="DIR", help=about)
    parser.add_argument("--locked", action="store_true", help="a reviewed package only")


def run(words: argparse.Namespace) -> int:
    from benchgate.base.interrupts import Interruptions
    from benchgate.features.linux_build import kernel

    config = kernel.DEFAULT_CONFIG if words.config is None else words.config
    signals = Interruptions(say, doing="ending the compilers")
    signals.watch()
    try:
        built = kernel.build(words.source, config, locked=words.locked, notice=say)
    except KeyboardInterrupt:
        say("the same command goes on where this one stopped")
        raise
    finally:
        signals.release()
    folder = built.folder
    if words.out is not None:
        folder = words.out
        folder.mkdir(parents=True, exist_ok=True)
        for path in built.folder.iterdir():
            shutil.copyfile(path, folder / path.name)
    print(f"{folder / built.image.name} (Linux {built.version})")
    return 0
