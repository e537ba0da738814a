"""Writes a session's reports into its folder and seals it.

Takes an open session and its view; also removes old sessions and writes GitHub's files. Fails with
EvidenceError that names the file; files that were written stay. A report of the user that fails stops no
other one, and is an error at the end. A problem with an old session or with GitHub's files is only a notice.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from benchgate.base.errors import EvidenceError
from benchgate.evidence import retention
from benchgate.evidence.session_folder import SessionFolder
from benchgate.plan.options import Options
from benchgate.render import github, reports
from benchgate.render.files import summary
from benchgate.render.view import SessionView


def write(session: SessionFolder, view: SessionView, options: Options, notice: Callable[[str], None]) -> None:
    made = reports.rendered(view, options.extra_reports)
    unwritten: list[EvidenceError] = []
    try:
        session.update(reports=sorted(made.texts))
    except EvidenceError as error:
        unwritten.append(error)
    for name, text in made.texts.items():
        try:
            session.write(name, text)
        except EvidenceError as error:  # the other reports are still written
            unwritten.append(error)
    if unwritten:
        raise reports.all_of([*unwritten, *made.errors])
    session.seal()
    _tell_github(view, notice)
    try:
        retention.prune(options.reports, options.keep, session.id)
    except EvidenceError as error:  # concerns old sessions only
        notice(str(error))
    if made.errors:
        raise reports.all_of(made.errors)


def _tell_github(view: SessionView, notice: Callable[[str], None]) -> None:
    """Writes the step summary and annotations, if this is a GitHub workflow."""
    wanted = github.wanted(os.environ)
    lines = github.workflow_commands(view) if wanted.annotations else ()
    if lines:
        # GitHub reads a command only at the start of a line, and pytest has not ended its line of dots.
        print("", *lines, sep="\n", flush=True)
    if wanted.summary:
        try:
            with wanted.summary.open("a", encoding="utf-8") as stream:
                stream.write(github.step_summary(view))
        except OSError as error:
            where = f"GITHUB_STEP_SUMMARY={wanted.summary}"
            notice(
                f"{where} cannot be written ({error.strerror}); the same text is the session's {summary.NAME}"
            )
