"""`benchgate cache`: lists what was fetched or built, and removes what is not used.

Takes a size for `gc`; prints a line per entry. Exit status 0. A size that is none is a usage error (4).
"""

from __future__ import annotations

import argparse


def declare(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    gc = actions.add_parser("gc", help="remove old entries that are not in use")
    gc.add_argument("--keep", type=_bytes, default="2G", metavar="SIZE", help="size to keep (default: 2G)")
    gc.set_defaults(command=_collect)


def run(_: argparse.Namespace) -> int:
    from benchgate.build import cache_storage, cache_trim

    entries = cache_trim.listing()
    for entry in entries:
        what = f"{entry.purpose} (in use)" if entry.in_use else entry.purpose
        print(f"{entry.size_bytes / 2**20:9.1f} MiB  {entry.kind:12} {entry.digest[:8]}  {what}".rstrip())
    total = sum(entry.size_bytes for entry in entries)
    advice = "`benchgate cache gc` removes old entries"
    print(f"{total / 2**20:9.1f} MiB  in {cache_storage.cache_root()}; {advice}")
    return 0


def _collect(words: argparse.Namespace) -> int:
    from benchgate.base.text import counted
    from benchgate.build import cache_trim

    gone = cache_trim.collect_garbage(words.keep)
    size = sum(entry.size_bytes for entry in gone) / 2**20
    print(f"removed {counted(len(gone), 'folder')}, {size:.1f} MiB")
    return 0


def _bytes(word: str) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    number, unit = (word[:-1], units[word[-1:].upper()]) if word[-1:].upper() in units else (word, 1)
    if not (number.isascii() and number.isdecimal() and len(number) < 16):
        raise argparse.ArgumentTypeError(f"`{word}` is not a size such as 500M or 2G")
    return int(number) * unit
