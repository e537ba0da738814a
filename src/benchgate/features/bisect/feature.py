"""What the core is told of bisect.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature

FEATURE = Feature(
    commands=(
        Command(
            "bisect",
            "find the commit of a system's source with which a verdict became FAIL",
            has_pytest_words=True,
            place="benchgate.features.bisect.command",
        ),
    ),
)
