"""What the core is told of baselines.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature, GateFile, GateMark, GlossaryTerm

HERE = "benchgate.features.baseline"
BASELINE = GateFile(
    "baseline",
    default="reports/baselines/main.json",
    folder="baselines",
    largest=8 << 20,
    ratio_is="worse",
    place=f"{HERE}.baseline_file",
)
FEATURE = Feature(
    commands=(
        Command(
            "baseline",
            "keep the figures of a session, to find regressions against them",
            place=f"{HERE}.command",
        ),
    ),
    terms=(
        GlossaryTerm(
            "baseline",
            "The figures of a session that somebody accepted, in a reviewed file with which `regression` "
            "gates compare.",
            "baselines",
            ("baselines",),
        ),
    ),
    gates=(
        GateMark(
            "regression",
            "how many times worse the metric is than in a baseline; without `cpus`, at each CPU count",
            "at_most=1.02",
            takes=("at_most", "insn", "cpus", "metric", BASELINE.name),
            needs=("at_most",),
            is_ratio=True,
            good="always",
            place=f"{HERE}.regression",
            before="scaling",
            is_common_word=True,
        ),
    ),
    kept=(BASELINE,),
)
