"""What the core is told of explorations.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature

COMMAND = "benchgate.features.explore.command"
FEATURE = Feature(
    commands=(
        Command(
            "explore",
            "run rows, or a system's smokes, under many interleavings, and keep what goes wrong",
            has_pytest_words=True,
            place=COMMAND,
        ),
        Command(
            "explore-replay",
            "repeat a find of an exploration exactly (benchgate explore replay)",
            second="replay",
            place=COMMAND,
        ),
        Command(
            "explore-small",
            "make a find of an exploration smaller (benchgate explore small)",
            second="small",
            place=COMMAND,
        ),
    ),
)
