"""A recorded command line can be repeated by whoever has no descriptors."""

from __future__ import annotations

from benchgate.run.end_memory import path_of
from tools.overhead import forgotten


def test_a_command_line_can_be_repeated_without_the_descriptors() -> None:
    kept = f"memory-backend-file,id=ram,size=512M,mem-path={path_of(0)},share=on"
    assert forgotten(["-object", kept, "-m", "512M"]) == [
        *("-object", "memory-backend-ram,id=ram,size=512M", "-m", "512M")
    ]
    other = "memory-backend-file,id=ram,size=512M,mem-path=/a/ram,share=on"
    assert forgotten([other]) == [other]
