"""What the core is told of building Linux.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature, KernelMaker

HERE = "benchgate.features.linux_build"
FEATURE = Feature(
    commands=(
        Command(
            "build-linux",
            "build a Linux kernel that boots as our guest, with sched_ext",
            place=f"{HERE}.command",
        ),
    ),
    kernels=KernelMaker(key="source", place=f"{HERE}.maker:kernel_of"),
    locks=f"{HERE}.kernel_source:newest_locks",
    programs=("pahole",),
    cached={
        "linux-built": "a Linux kernel, built from its source",
        "linux-source": "the source of Linux: {version}",
        "linux-work": "the source and the objects of the last Linux that was built",
    },
)
