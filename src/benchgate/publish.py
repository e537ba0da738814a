"""Writes a session's reports into its folder and seals it.

Takes an open session and its view. Fails with EvidenceError that names the file; what was written stays.
GitHub's own files are no part of the session, nor are older sessions: where they refuse, that is a notice.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from benchgate import formats, retention
from benchgate.errors import EvidenceError
from benchgate.evidence import Session
from benchgate.formats import SUMMARY
from benchgate.options import Options
from benchgate.render import github
from benchgate.render.model import SessionView


def write(session: Session, view: SessionView, options: Options, notice: Callable[[str], None]) -> None:
    for name, text in formats.rendered(view, inconclusive_fails=options.inconclusive_fails).items():
        session.write(name, text)
    session.seal()
    _tell_github(view, notice)
    try:
        retention.prune(options.reports, options.keep, session.id)
    except EvidenceError as wrong:  # of older sessions; this one is whole
        notice(str(wrong))


def _tell_github(view: SessionView, notice: Callable[[str], None]) -> None:
    """The step summary and annotations, where this runs in a GitHub workflow."""
    wanted = github.wanted(os.environ)
    lines = github.workflow_commands(view) if wanted.annotations else ()
    if lines:
        # GitHub obeys a command at the begin of a line only, and pytest has not ended its line of dots.
        print("", *lines, sep="\n", flush=True)
    if wanted.summary:
        try:
            with wanted.summary.open("a", encoding="utf-8") as stream:
                stream.write(github.step_summary(view))
        except OSError as error:
            where = f"GITHUB_STEP_SUMMARY={wanted.summary}"
            notice(f"{where} cannot be written ({error.strerror}); the same text is the session's {SUMMARY}")
