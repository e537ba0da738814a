"""Every report of a session that follows from its view, by the name of its file.

Takes a SessionView and whether INCONCLUSIVE counts as a failure; gives texts. Pure: the session that has just
ended writes them, and whoever verifies it later makes them anew and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchgate.evidence import VERDICTS
from benchgate.render import (
    attribution,
    benchmark_json,
    bigger_is_better,
    junit,
    markdown,
    speedup_svg,
    verdicts_json,
)
from benchgate.render.model import SessionView

SUMMARY, JUNIT, ATTRIBUTION = "summary.md", "junit.xml", "attribution.md"
Renderer = Callable[[SessionView], str]
FILES: Mapping[str, Renderer] = {
    VERDICTS: lambda view: verdicts_json.render(view.verdicts),
    "benchmark.json": benchmark_json.render,
    "speedups.json": bigger_is_better.render,
    "speedup.svg": speedup_svg.render,
    SUMMARY: markdown.render,
}


def rendered(view: SessionView, *, inconclusive_fails: bool) -> dict[str, str]:
    """All of them, by file name."""
    texts = {name: render(view) for name, render in FILES.items()}
    if view.attributions is not None:
        texts[ATTRIBUTION] = attribution.markdown(view.attributions)
    return {**texts, JUNIT: junit.render(view, is_inconclusive_failure=inconclusive_fails)}
