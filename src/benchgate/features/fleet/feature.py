"""What the core is told of a fleet.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature, Option, RunMaker

HERE = "benchgate.features.fleet"
FEATURE = Feature(
    commands=(
        Command(
            "fleet",
            "make runs on other machines: the scheduler, its workers, what they may run",
            place=f"{HERE}.command",
        ),
    ),
    options=(
        Option(
            "fleet",
            "make the runs on the workers of this scheduler, e.g. tcp://127.0.0.1:8786: all on the "
            "instruction clock, or with --clock wall all on one that is a measuring host",
            metavar="ADDRESS",
        ),
        Option(
            "fleet-certificates",
            "the folder with the client's certificates, from `benchgate fleet certificates`",
            metavar="DIR",
        ),
        Option(
            "fleet-key",
            "an SSH key that vouches for what the workers are to run (their --signers)",
            metavar="PATH",
        ),
    ),
    read_options=f"{HERE}.option:read",
    maker=RunMaker(
        "fleet",
        "make the runs on the workers of this scheduler, as for pytest",
        who="workers of a fleet",
        place=f"{HERE}.maker",
    ),
)
