"""The value of `--history`: the history that imports the session at its end.

Takes the words of all options; gives a path or URL, an empty text for the user's own history, or None for
`off`. Fails with OptionError for a URL with a password.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchgate.base.errors import OptionError


def read(given: Mapping[str, object]) -> dict[str, object]:
    return {"history": _place(str(given["history"]))}


def _place(word: str) -> str | None:
    if word in ("on", "off"):
        return "" if word == "on" else None
    if "://" not in word:
        return str(Path(word).absolute())
    if "@" in word and ":" in word.partition("://")[2].rpartition("@")[0]:
        raise OptionError(
            "history",
            ": a session records its options, so give no password there; set the whole URL in "
            "BENCHGATE_HISTORY and use --history on, or keep the password in ~/.pgpass",
        )
    return word
