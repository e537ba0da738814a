"""Reads how a boot ends and what it must pass first: `end`, `deadlines` and `smoke`.

Takes the top section; gives the typed parts of a `System`. Fails with CatalogError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.runs import Deadlines
from benchgate.base.text import filled
from benchgate.base.watching import DEADLINES, End, EndBy, Smoke
from benchgate.base.yamlfile import Section
from benchgate.plan.systemfile.console import check_watched


def read(top: Section, good: int) -> End:
    """`good`: the exit status that usually means success on this architecture."""
    with top.optional("end") as words:
        by = EndBy(words.choice("by", tuple(EndBy), EndBy.EXIT))
        may_reset = words.choice("reset", ("failure", "allowed"), "failure") == "allowed"
        return End(by, words.integers("exit_codes", (good,)), may_reset)


def deadlines(top: Section) -> Deadlines:
    with top.optional("deadlines") as words:
        return Deadlines(
            boot_s=words.number("boot_s", DEADLINES.boot_s, low=0.1, high=3600),
            run_s=words.number("run_s", DEADLINES.run_s, low=0.1, high=86400),
        )


def smoke(top: Section, settings: Mapping[str, str], end_by: EndBy) -> Smoke | None:
    words = top.section("smoke")
    if words is None:
        return None
    found = Smoke(filled(words.text("append", ""), settings), words.pattern("pass"))
    if re.search(found.passes, ""):
        words.refuse("matches the empty string, so any console would pass", "pass")
    if end_by is EndBy.KILL:
        check_watched(words, "pass", found.passes)
    words.close()
    return found
