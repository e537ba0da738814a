"""The answer of a bisect as text: the first bad commit with its figures, and their ratio to those of GOOD.

Takes what was found and the sessions of the steps; gives text. Fails with EvidenceError if a session's files
cannot be read.
"""

from __future__ import annotations

from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.text import visible
from benchgate.build.revision import Repository, git
from benchgate.evidence.files import SESSION, read_object
from benchgate.session import comparison
from benchgate.session.bisect import history, state
from benchgate.session.bisect.history import Next
from benchgate.session.bisect.state import Question, State, Step, Term


def text(folder: Path, question: Question, repository: Repository, known: State, found: Next) -> str:
    lines = _found(repository, found.first_bad) if found.first_bad else _among(repository, known, found)
    step = known.step(found.first_bad) or _earliest_bad(known, found)
    if step is not None:
        lines += ["", step.why, *_against_good(folder, step)]
    skipped = [one for one in known.steps if one.term is Term.SKIP]
    if skipped:
        lines += ["", "skipped:", *(f"  {state.line(one)}" for one in skipped)]
    lines += [
        "",
        f"{len(known.steps)} steps, each with its session: {folder / state.LOG}, {folder / 'steps'}",
    ]
    lines.append(f"from GOOD {question.good[:10]} to BAD {question.bad[:10]} of {question.system}")
    return "\n".join(map(visible, lines))


def _found(repository: Repository, commit: str) -> list[str]:
    done = git(repository.top, "log", "-1", "--format=%an, %ad", "--date=short", commit)
    return [
        f"the first bad commit is {commit[:10]}: {history.subject_of(repository, commit)}",
        f"  {done.stdout.strip()}; git -C {repository.top} show {commit[:10]}",
    ]


def _among(repository: Repository, known: State, found: Next) -> list[str]:
    lines = ["the first bad commit is one of these, and the others of them could not be judged:"]
    for commit in found.among:
        step = known.step(commit)
        lines.append(f"  {commit[:10]} {step.term if step else 'not tested'}: "
                     f"{history.subject_of(repository, commit)}")  # fmt: skip
    return lines


def _earliest_bad(known: State, found: Next) -> Step | None:
    """Of the commits among which the first bad one is: the one that was seen to be bad."""
    steps = map(known.step, found.among)
    return next((one for one in steps if one is not None and one.term is Term.BAD), None)


def _against_good(folder: Path, step: Step) -> list[str]:
    """Both were measured in one session: A is GOOD."""
    session = folder / step.session
    letters = read_object(session, SESSION).get("letters", {})
    if not step.session or not isinstance(letters, dict) or not {"A", "B"} <= letters.keys():
        return []
    try:
        table = comparison.text(f"{session}:{letters['A']}", f"{session}:{letters['B']}")
    except UsageError as error:
        return [f"its figures have no counterpart in GOOD: {error}"]
    return ["", f"GOOD (A) and {step.commit[:10]} (B), measured in one session:", *table.split("\n")]
