"""The memory model needs at most 200 bytes for each line of the guest's memory that is in use."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.memory_reference import READ, WRITE, Level, Place, Range, Shape
from tests.memorykit import STEP, Model, load

LINES = 400_000
CHUNK = 50_000
LIMIT = 200
BIG = Shape(
    l1d=Level(64, 8, 1),
    l1i=Level(64, 8, 1),
    l2=Level(1024, 16, 5),
    l3=Level(16384, 16, 17),
    cpus=(),
    ranges=(Range(0, 1 << 36, 0),),
)


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def used_by(model: Model, cpus: int, lines: range) -> int:
    """How much this process grows while all CPUs in turn use these lines."""
    before = resident()
    for first in lines[::CHUNK]:
        steps = np.zeros(CHUNK, STEP)
        steps["at"] = np.arange(first, first + CHUNK)
        steps["now"] = steps["at"]
        steps["cpu"] = steps["at"] % cpus
        steps["op"] = np.where(steps["at"] % 3, READ, WRITE)
        model.run(steps)
    return resident() - before


@pytest.mark.parametrize("cpus", [1, 32, 256])
def test_memory_for_each_line(tmp_path: Path, cpus: int) -> None:
    library = load(tmp_path)
    shape = replace(BIG, cpus=(Place(0, 0, 0),) * cpus)
    with Model(library, tmp_path, shape.text()) as model:
        used_by(model, cpus, range(1 << 28, (1 << 28) + CHUNK))  # this process itself grows at first
        used = used_by(model, cpus, range(LINES)) / LINES
    assert 40 < used <= LIMIT
    print(f"{cpus} CPUs: {used:.0f} bytes a line")
