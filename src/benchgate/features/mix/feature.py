"""What the core is told of mixes.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature, PlainMark

HERE = "benchgate.features.mix"
FEATURE = Feature(
    commands=(
        Command(
            "mix",
            "choose the mix of applications that exercises a system most, and measure how it isolates them",
            place=f"{HERE}.command",
        ),
    ),
    marks=(
        PlainMark(
            "isolation",
            "the isolation of a study's best mix",
            "study, at_least=|against=",
            fixture="isolation",
        ),
    ),
    fixtures=f"{HERE}.fixture",
    values={
        "isolation": (
            f"{HERE}.session.isolation_mark:IsolationResult",
            f"{HERE}.isolation:IsolationVerdict",
        )
    },
    files=(f"{HERE}.study_keys:STUDY",),
)
