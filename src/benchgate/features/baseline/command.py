"""`benchgate baseline`: accepts a session as a baseline, checks it, and shows what has changed since.

Takes the words of the command line; prints text and gives an exit status. Fails with the errors of
acceptance.py and diff.py.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base.errors import UsageError
from benchgate.base.text import visible
from benchgate.commands.shared import declare_trusted, print_notes, say, trusted
from benchgate.features.baseline.feature import BASELINE

if TYPE_CHECKING:
    from benchgate.features.baseline.acceptance import AcceptanceRequest
    from benchgate.features.baseline.baselines import Baseline


def declare(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    accept = actions.add_parser("accept", help="make a baseline of a session that `verify` finds intact")
    accept.add_argument("folder", help="the session's folder")
    accept.add_argument(
        "--out", default=BASELINE.default, metavar="FILE", help=f"default: {BASELINE.default}"
    )
    about = "add the cells that FILE lacks, and leave all others as they are"
    accept.add_argument("--add", action="store_true", help=about)
    about = "accept figures that this verdict refused (FAIL or INVALID); once for each"
    accept.add_argument("--despite", action="append", default=[], metavar="ID", help=about)
    _declare_replays(accept, "also keep where the instructions of one run of each cell went, by symbol")
    accept.set_defaults(command=_accept)
    check = actions.add_parser("check", help="whether a baseline is the one of this session (status 0 or 1)")
    _declare_both(check)
    declare_trusted(check)
    check.set_defaults(command=_check)
    diff = actions.add_parser("diff", help="what has changed in a session since its baseline")
    _declare_both(diff)
    _declare_replays(diff, "replay one run of each cell, and name the symbols whose counts changed most")
    diff.set_defaults(command=_diff)


def _declare_both(parser: argparse.ArgumentParser) -> None:
    about = f"the baseline (default: {BASELINE.default})"
    parser.add_argument("file", nargs="?", default=BASELINE.default, help=about)
    parser.add_argument("folder", help="the session's folder")


def _declare_replays(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--profile", action="store_true", help=f"{about} (instruction clock)")
    about = "the YAML file of your own system"
    parser.add_argument("--system", action="append", default=[], metavar="PATH", help=about)
    declare_trusted(parser)


def _request(action: str, words: argparse.Namespace) -> AcceptanceRequest:
    from benchgate.features.baseline import acceptance

    systems, profile = getattr(words, "system", ()), getattr(words, "profile", False)
    folder = Path(words.folder)
    given = [words.file] if "file" in words else []
    given += ["--profile"] if profile else []
    given += [word for system in systems for word in ("--system", system)]
    whole = ["benchgate", "baseline", action, str(folder), *given, *_more(words)]
    verb, known = shlex.join(["baseline", action, *given]), trusted(words, acceptance.session_of(folder)[0])
    despite = tuple(getattr(words, "despite", ()))
    return acceptance.AcceptanceRequest(
        folder, known, profile, tuple(systems), despite, verb, shlex.join(whole)
    )


def _more(words: argparse.Namespace) -> list[str]:
    """The other options of `accept` that were given."""
    given = ["--add"] if getattr(words, "add", False) else []
    given += ["--out", words.out] if getattr(words, "out", BASELINE.default) != BASELINE.default else []
    for name in ("despite", "workload", "gate", "extra_report"):
        values = getattr(words, name, [])
        given += [word for value in values for word in (f"--{name.replace('_', '-')}", str(value))]
    return given


def _accept(words: argparse.Namespace) -> int:
    from benchgate.features.baseline import acceptance, baseline_file

    out = Path(words.out)
    there = baseline_file.read(out) if out.exists() else None
    before = there if words.add else None
    result = acceptance.accept(_request("accept", words), say, before)
    if lost := _lost(there, result.baseline):
        advice = "--add adds this session's cells and leaves all others; --out writes another file"
        raise UsageError(f"{out} has cells that {words.folder} lacks: {', '.join(lost)}; next: {advice}")
    old = baseline_file.write(out, result.baseline)
    cells = ", ".join(f"{arm.cell.id} ({arm.lane})" for arm in result.new)
    print(visible(f"{'added to' if before else 'wrote'} {out}, of session {result.session}: {cells}"))
    if old is not None:
        print(visible(f"the file that was there is now {old}"))
    print("next: look at its difference, and commit it")
    print_notes(result.notes)
    return 0


def _lost(there: Baseline | None, now: Baseline) -> list[str]:
    """The cells of the file that would not be in it any more."""
    kept = {(arm.cell.id, arm.lane) for arm in now.arms}
    arms = there.arms if there else ()
    return [f"{arm.cell.id} ({arm.lane})" for arm in arms if (arm.cell.id, arm.lane) not in kept]


def _check(words: argparse.Namespace) -> int:
    from benchgate.features.baseline import acceptance, baseline_file

    wrong = acceptance.differs(baseline_file.read(Path(words.file)), _request("check", words), say)
    print(visible(wrong or f"{words.file} is the baseline of {words.folder}"))
    return 1 if wrong else 0


def _diff(words: argparse.Namespace) -> int:
    from benchgate.features.baseline import baseline_file, diff

    print(diff.text(baseline_file.read(Path(words.file)), Path(words.file), _request("diff", words), say))
    return 0
