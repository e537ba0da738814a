"""Text for GitHub's runners: the step summary, and one annotation for each verdict that is not PASS.

Takes a SessionView, or the environment; gives text that the caller prints or appends, or what a runner wants.
Does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.gates import Verdict, Word
from benchgate.render.escape import github_message, github_property
from benchgate.render.files import summary
from benchgate.render.view import SessionView, headline

LARGEST_SUMMARY = 1024 * 1024
"""GitHub refuses a step summary above 1 MiB."""

LEVELS = {Word.FAIL: "error", Word.INVALID: "error", Word.INCONCLUSIVE: "warning", Word.SKIP: "notice"}


@dataclass(frozen=True, slots=True)
class Wanted:
    summary: Path | None
    annotations: bool


def wanted(environment: Mapping[str, str]) -> Wanted:
    path = environment.get("GITHUB_STEP_SUMMARY", "")
    return Wanted(Path(path) if path else None, environment.get("GITHUB_ACTIONS") == "true")


def step_summary(view: SessionView) -> str:
    """The summary without its picture, because a step summary cannot show files of the runner."""
    lines = summary.render(view).splitlines(keepends=True)
    text = "".join(line for line in lines if f"]({summary.PICTURE})" not in line)
    if len(text.encode()) <= LARGEST_SUMMARY:
        return text
    return f"# {headline(view)}\n\nThe summary is too long for GitHub; it is in the session's summary.md.\n"


def workflow_commands(view: SessionView) -> tuple[str, ...]:
    """One annotation per line, for standard output."""
    return tuple(_annotation(one) for one in view.shown_verdicts if one.outcome in LEVELS)


def _annotation(verdict: Verdict) -> str:
    title = github_property(f"benchgate {verdict.id}")
    return f"::{LEVELS[verdict.outcome]} title={title}::{github_message(verdict.reason)}"
