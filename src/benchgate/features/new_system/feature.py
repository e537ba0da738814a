"""What the core is told of first contact.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Command, Feature

NAME = "new-system"
FEATURE = Feature(
    commands=(
        Command(
            NAME,
            "boot an unknown kernel and write a YAML file for it",
            place="benchgate.features.new_system.command",
        ),
    ),
    describes_kernels=NAME,
)
