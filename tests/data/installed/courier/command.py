"""`benchgate courier FOLDER`."""

import argparse
from pathlib import Path


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="the folder of --courier")


def run(words: argparse.Namespace) -> int:
    for file in sorted(Path(words.folder).glob("*.json")):
        print(file.stem)
    return 0
