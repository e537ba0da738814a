"""Our text between that of pytest: whose line the terminal is in, and pytest's colours.

Takes pytest's terminal reporter, or its function that marks text up; that one knows --color, NO_COLOR,
FORCE_COLOR and PY_COLORS. Does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchgate.base.gates import Word

COLOURS = {
    Word.PASS: {"green": True},
    Word.FAIL: {"red": True, "bold": True},
    Word.INVALID: {"red": True, "bold": True},
    Word.INCONCLUSIVE: {"yellow": True, "bold": True},
    Word.SKIP: {"yellow": True},
}
_WORDS = "|".join(COLOURS)
_VERDICT = re.compile(rf"^(?:{_WORDS})(?=:)|(?<= )(?:{_WORDS})$", re.MULTILINE)
"""A verdict at the beginning of a sentence, or in the last column of a table."""


def end_line(reporter: Any) -> None:
    """Ends the line of letters and file names that pytest has begun; with -q it has letters only."""
    reporter.ensure_newline()
    if reporter._tw.width_of_current_line:
        reporter._tw.line()


def coloured(text: str, markup: Callable[..., str]) -> str:
    """`markup` gives its text back unchanged where pytest has no colours."""
    return _VERDICT.sub(lambda found: markup(found[0], **COLOURS[Word(found[0])]), text)
