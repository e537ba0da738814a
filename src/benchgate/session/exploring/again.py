"""Replays a find exactly, or what is left of it, also under a debugger.

Takes the folder of a find, a new folder, and how to replay; gives the text to print, and whether both runs
are equal. Fails as `session/replay.py` does, which does the work.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchgate.base.exploring import Strategy
from benchgate.build.cache_storage import Notice
from benchgate.explore.explored import Find
from benchgate.run.record import load
from benchgate.session import replay
from benchgate.session.exploring import folder as folders
from benchgate.session.exploring.guest_maker import LIMITS
from benchgate.session.exploring.small import told
from benchgate.session.replay import Order

VERB = ("benchgate", "explore", "replay")


def again(order: Order, notice: Notice) -> tuple[str, bool]:
    """`order.folder` is that of the find."""
    folder, name = folders.of_find(order.folder)
    find = folder.find(name.removesuffix(folders.SMALL))
    notice(f"{name}: {find.kind}: {find.what}")
    limit = find.deadline_ns or None
    if name != find.name and find.small is not None and find.small.cell != find.cell:
        limit = None  # another cell, so another deadline
    text, same = replay.replay(
        replace(order, facts=folders.PLAN, deadline_ns=limit, limits=LIMITS, verb=VERB), notice
    )
    return "\n".join([text, *_left(find, order.folder)]), same


def _left(find: Find, place: Path) -> list[str]:
    raw = load(place)
    stalls = raw.exploration
    listed = stalls is not None and stalls.strategy is Strategy.POINTS
    how = [f"stalls: {len(stalls.points)}, in {place / 'exploration.txt'}"] if stalls and listed else []
    return [*how, *([told(find)] if find.small else [])]
