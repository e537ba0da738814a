"""The sentences of verdicts, in which gates that one cause has left out share one.

Takes verdicts in the order in which a report shows them; gives a word and a text for each sentence. Does not
fail.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.gates import Verdict, Word
from benchgate.base.text import gathered
from benchgate.judge.gates.wording import NOT_RUN


def told(verdicts: Iterable[Verdict]) -> list[tuple[Word, str]]:
    """Gates whose cells were not run come last."""
    causes = [(one, _cause(one)) for one in verdicts]
    decided = [(one.outcome, one.sentence.removeprefix(f"{one.outcome}: ")) for one, why in causes if not why]
    left_out = gathered(((one.id, f"not run: {why}") for one, why in causes if why), "gate")
    return [*decided, *((Word.SKIP, line) for line in left_out)]


def _cause(one: Verdict) -> str:
    return one.reason.partition(NOT_RUN)[2] if one.outcome is Word.SKIP else ""
