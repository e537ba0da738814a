"""Writes a session's reports into its folder and seals it.

Takes an open session and its view; also removes old sessions and writes GitHub's files. Fails with
EvidenceError that names the file; files that were written stay. A report of the user that fails stops no
other one, and is an error at the end. A problem with an old session or with GitHub's files is only a notice.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from benchgate.base.errors import EvidenceError
from benchgate.base.gates import Verdict, Word
from benchgate.base.process import start_time
from benchgate.evidence.files import SESSION, read_object
from benchgate.evidence.session_folder import SESSION_NAME, SessionFolder
from benchgate.plan.options import Options
from benchgate.render import reports
from benchgate.render.escape import github_message, github_property
from benchgate.render.files import summary
from benchgate.render.view import SessionView, headline


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
        prune(options.reports, options.keep, session.id)
    except EvidenceError as error:  # it concerns old sessions only
        notice(str(error))
    if made.errors:
        failed = reports.all_of(made.errors)
        advice = "the session is whole and sealed without its file; mend it for the next session"
        raise type(failed)(f"{failed}; {advice}")


def _tell_github(view: SessionView, notice: Callable[[str], None]) -> None:
    """Writes the step summary and annotations, if this is a GitHub workflow."""
    lines = workflow_commands(view) if os.environ.get("GITHUB_ACTIONS") == "true" else ()
    if lines:
        # GitHub reads a command only at the start of a line, and pytest has not ended its line of dots.
        print("", *lines, sep="\n", flush=True)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(path).open("a", encoding="utf-8") as stream:
                stream.write(step_summary(view))
        except OSError as error:
            where = f"GITHUB_STEP_SUMMARY={path}"
            elsewhere = f"the same text is the session's {summary.NAME}"
            notice(f"{where} cannot be written ({error.strerror}); {elsewhere}")


# ---- old sessions


def prune(reports: Path, keep: int, current: str = "") -> tuple[str, ...]:
    """Removes the oldest sessions above `keep` (0 keeps all), but never the current or a running one."""
    try:
        names = sorted(path.name for path in (reports / "runs").iterdir() if _is_session(path))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise EvidenceError(f"{reports / 'runs'} cannot be read: {error.strerror}") from None
    surplus = names[: max(len(names) - keep, 0)] if keep else []
    gone = [name for name in surplus if name != current and not _is_running(reports / "runs" / name)]
    kept = []
    for name in gone:
        try:
            with contextlib.suppress(FileNotFoundError):  # another session removes it too
                shutil.rmtree(reports / "runs" / name)
        except OSError as error:
            kept.append(f"{reports / 'runs' / name} cannot be removed: {error.strerror}")
    if kept:
        raise EvidenceError("; ".join(kept))
    return tuple(gone)


def _is_session(path: Path) -> bool:
    return bool(SESSION_NAME.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()


def _is_running(folder: Path) -> bool:
    """Compares the start time too, because another process may have the number by now."""
    try:
        facts = read_object(folder, SESSION)
    except EvidenceError:
        return False
    pid, started = facts.get("pid"), facts.get("pid_started")
    return type(pid) is int and type(started) is int and start_time(pid) == started


# ---- GitHub's files


LARGEST_SUMMARY = 1024 * 1024
"""GitHub refuses a step summary above 1 MiB."""

LEVELS = {Word.FAIL: "error", Word.INVALID: "error", Word.INCONCLUSIVE: "warning", Word.SKIP: "notice"}


def step_summary(view: SessionView) -> str:
    """The summary without its picture, because a step summary cannot show files of the runner."""
    lines = summary.render(view).splitlines(keepends=True)
    text = "".join(line for line in lines if f"]({summary.PICTURE})" not in line)
    if len(text.encode()) <= LARGEST_SUMMARY:
        return text
    return f"# {headline(view)}\n\nThe summary is too long for GitHub; it is in the session's summary.md.\n"


def workflow_commands(view: SessionView) -> tuple[str, ...]:
    """One annotation per line, for standard output."""
    return tuple(_annotation(verdict) for verdict in view.shown_verdicts if verdict.outcome in LEVELS)


def _annotation(verdict: Verdict) -> str:
    title = github_property(f"benchgate {verdict.id}")
    return f"::{LEVELS[verdict.outcome]} title={title}::{github_message(verdict.reason)}"
