"""What the core is told of the history.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature, Option, SessionSource

HERE = "benchgate.features.history"
FEATURE = Feature(
    commands=(
        Command(
            "history",
            "draw the course of a row over sessions, with its changes; `history import DIR...` adds sessions",
            place=f"{HERE}.command",
        ),
        Command(
            "history-import",
            "import sessions into the history (`benchgate history import` is the same)",
            second="import",
            place=f"{HERE}.command",
        ),
    ),
    options=(
        Option(
            "history",
            "at its end, import the session into a history: on (the user's own, or $BENCHGATE_HISTORY), or "
            "the path of a SQLite file, or a URL; default: off",
            metavar="on|off|PATH|URL",
        ),
    ),
    read_options=f"{HERE}.option:read",
    at_end=f"{HERE}.histories:at_end",
    sessions=(
        SessionSource(
            "history",
            side="history:SESSION (latest, latest~N, an id, commit=SHA)",
            page="the history: `history` or `history:ROW`",
            place=f"{HERE}.source",
        ),
    ),
)
