"""`benchgate fleet allow`: adds to the list of what a worker runs.

Takes the list and words ROLE=DIGEST or ROLE=FILE, or a session that ran what is to be allowed; appends lines.
Exit status 0; a word that is none of them is a usage error (4).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.base.errors import UsageError

NAME = "allow"
ABOUT = "add digests to the list of what a worker runs"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("list", help="the file that the worker's --allow names")
    about = "qemu=, clock=, kernel=, initrd=, disk= or firmware= with a SHA-256 or a file"
    parser.add_argument("items", nargs="*", metavar="ROLE=DIGEST", help=about)
    about = "allow what this session of yours ran"
    parser.add_argument("--session", metavar="DIR", help=about)


def run(words: argparse.Namespace) -> int:
    from benchgate.fleet import allow

    items = [allow.item_of_word(word) for word in words.items]
    if words.session:
        items += allow.items_of_session(Path(words.session))
    if not items:
        raise UsageError("nothing to allow: name ROLE=DIGEST, ROLE=FILE or --session DIR")
    for one in (fresh := allow.add(Path(words.list), items)):
        print(f"allowed: {one}")
    print(f"{words.list}: {len(fresh)} added, {len(set(items)) - len(fresh)} were there")
    return 0
