"""`benchgate explore`: runs rows, or a system's smokes, under many interleavings, and keeps what goes wrong.

Takes paths of tests, or --smoke; prints each find with the command that replays it. Exit status 0: nothing
was found, 1: something was, 5: no run of a cell had a stall; 4 for a usage error, 130 after Ctrl-C.

`benchgate explore replay` takes the folder of a find and repeats it exactly, also under a debugger; its
status is 0 if both runs are the same, else 1. `benchgate explore small` takes the folder of a find, makes it
smaller and prints what remains of it; the tests that were explored are collected again.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.commands import shared

if TYPE_CHECKING:
    from benchgate.features.explore.exploration_result import ExplorationResult
    from benchgate.features.explore.session.request import ExplorationRequest


from benchgate.commands import replay
from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "also: benchgate explore replay FIND, benchgate explore small FIND"
    parser.add_argument("paths", nargs="*", metavar="PATH", help="tests, as for pytest")
    about = "as for pytest; repeatable"
    parser.add_argument("--system", action="append", default=[], metavar="NAME|PATH", help=about)
    parser.add_argument("--smp", default="", metavar="LIST", help="CPU counts, as for pytest")
    parser.add_argument("--smoke", action="store_true", help="the systems' own smokes, and no tests")
    parser.add_argument("--quick", action="store_true", help="short rows, as for pytest")
    about = "as for pytest: cold, warm, auto or fork; cold also explores the boot (default: auto)"
    parser.add_argument("--start", choices=("cold", "warm", "auto", "fork"), default="auto", help=about)
    about = "runs of each cell (default: 1000)"
    parser.add_argument("--seeds", type=shared.whole(1, 10**6), metavar="N", help=about)
    about = "the seed of the first run; the others count on from it (default: 1)"
    parser.add_argument("--first-seed", type=shared.whole(1, 10**9), default=1, metavar="N", help=about)
    about = "plain, sync, pct, anywhere, interrupt or all; several take turns (default: sync,pct)"
    parser.add_argument("--strategy", default="", metavar="NAME,NAME", help=about)
    about = "a parameter of the strategies, e.g. depth=4 or longest_ns=20000; repeatable"
    parser.add_argument("--with", action="append", default=[], dest="given", metavar="KEY=N", help=about)
    parser.add_argument("--window", action="store_true", help="stalls in the timed window only")
    above_1 = shared.real(math.nextafter(1, 2), 1e6, "a number above 1, such as 4")
    about = "a run is a find if it is K times the median (default: 4)"
    parser.add_argument("--slower", type=above_1, metavar="K", help=about)
    shared.declare_jobs(parser)
    parser.add_argument("--stop-at-first", action="store_true", help="end at the first find")
    parser.add_argument("--no-small", action="store_true", help="do not make finds small")
    _declare_small_runs(parser)
    shared.declare_makers(parser)
    about = "its folder, where it also goes on (default: a new one, reports/explored)"
    parser.add_argument("--out", metavar="DIR", help=about)
    parser.add_argument("--plan", action="store_true", help="print what would be run; boot nothing")
    parser.add_argument("--json", action="store_true", help="print explored.json")


def run(words: argparse.Namespace) -> int:
    from benchgate.base.interrupts import Interruptions
    from benchgate.features.explore.page import finds
    from benchgate.features.explore.session import rows, steps
    from benchgate.features.explore.session.folder import PAGE, STATE, require_place
    from benchgate.features.explore.session.guest_maker import opened
    from benchgate.features.explore.session.request import checked
    from benchgate.session.progress import on_stderr

    asked, given = _asked(words), shared.options_of_features(words)
    out = Path(words.out or shared.free_name(str(Path("reports") / "explored"))).absolute()
    checked(asked)
    require_place(out)
    if words.plan:
        print(steps.plan_text(asked, rows.select(asked), out))
        return 0
    shown = on_stderr()
    signals = Interruptions(shown.note)
    signals.watch()
    try:
        state = steps.explore(asked, out, opened(shown, given), shown)
    except KeyboardInterrupt:
        shown.note(f"interrupted; the same command with --out {out} goes on")
        raise
    finally:
        signals.release()
        shown.close()
    if words.json:
        print((out / STATE).read_text(encoding="utf-8"), end="")
    else:
        print("\n".join(finds.text(state, lambda name: steps.command_of(out, name))))
        print(f"page: {out / PAGE}")
    return _status(state)


def _status(state: ExplorationResult) -> int:
    from benchgate.session.exit_codes import UNDECIDED

    if state.finds:
        return 1
    return UNDECIDED if state.unstalled else 0


def _asked(words: argparse.Namespace) -> ExplorationRequest:
    from benchgate.features.explore.session import request
    from benchgate.plan import catalog

    here = Path.cwd()
    return request.ExplorationRequest(
        paths=tuple(request.placed(path, here) for path in words.paths),
        systems=tuple(catalog.placed(one, here) for one in words.system),
        smp=words.smp,
        smoke=words.smoke,
        quick=words.quick,
        start=words.start,
        words=tuple(words.after),
        strategies=request.strategies(words.strategy) if words.strategy else request.USUAL,
        parameters=request.parameters(words.given),
        window=words.window,
        slower=words.slower or request.SLOWER,
        runs=words.seeds or request.RUNS,
        first_seed=words.first_seed,
        stop_at_first=words.stop_at_first,
        jobs=words.jobs,
        small=not words.no_small,
        small_runs=words.small_runs or request.SMALL_RUNS,
    )


def declare_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("find", type=Path, help="DIR/finds/find-N, or DIR/finds/find-N-small")
    replay.declare_replay(parser)


def run_replay(words: argparse.Namespace) -> int:
    from benchgate.features.explore.session import steps

    text, same = steps.replay_find(replay.order_of(words, words.find.absolute()), say)
    print(text)
    return 0 if same else 1


def declare_small(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("find", type=Path, help="DIR/finds/find-N")
    shared.declare_jobs(parser)
    _declare_small_runs(parser)
    shared.declare_makers(parser)


def _declare_small_runs(parser: argparse.ArgumentParser) -> None:
    about = "the most runs that make one find small (default: 300)"
    parser.add_argument("--small-runs", type=shared.whole(1, 10**6), metavar="N", help=about)


def run_small(words: argparse.Namespace) -> int:
    from benchgate.features.explore.session import request, smaller, steps
    from benchgate.features.explore.session.guest_maker import opened
    from benchgate.session.progress import on_stderr

    given, shown = shared.options_of_features(words), on_stderr()
    wanted = request.ExplorationRequest(jobs=words.jobs, small_runs=words.small_runs or request.SMALL_RUNS)
    try:
        find = steps.make_small(words.find, wanted, opened(shown, given), shown)
    finally:
        shown.close()
    print(smaller.told(find))
    return 0
