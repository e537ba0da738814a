"""The protocol of the memory model, on machines so small that every state can be visited.

tests/data/memory/protocol.c does that and checks each state. It follows the data, which the model does not
have, by the moves that the model reports: whoever reads must get what was written last.
"""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest

from tests.machines import PATIENCE_S
from tests.memory_reference import Level, Place, Range, Shape
from tests.memorykit import build

DRIVER = Path(__file__).parents[4] / "data/memory/protocol.c"
NO_CACHE = Level(0, 0, 0)


def tiny(clusters: str, *, l2: int = 1, l3: int = 0) -> Shape:
    """One set everywhere. `clusters` has a digit for each CPU; `l2` and `l3` are ways."""
    cpus = tuple(Place(int(cluster), 0, 0) for cluster in clusters)
    level = Level(1, 1, 1)
    return Shape(level, level, Level(1, l2, 4), Level(1, l3, 10) if l3 else None, cpus, (Range(0, 4096, 0),))


MACHINES = {
    "one L3": (tiny("00", l3=1), 2),
    "two L3s": (tiny("001", l3=1), 2),
    "an L3 for each CPU": (tiny("012", l3=1), 2),
    "no L3": (tiny("001"), 2),
    "two ways in L2": (tiny("01", l2=2), 3),
    "two ways in L3": (tiny("00", l3=2), 3),
}


def visit(program: Path, shape: Shape, lines: int) -> list[str]:
    """What the driver prints. The first word is `broken:` if a state is."""
    path = program.parent / "shape"
    path.write_text(shape.text())
    done = subprocess.run(
        [program, path, str(lines)], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == (1 if done.stdout.startswith("broken: ") else 0), done
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("protocol") / "protocol", (DRIVER,), ())


def allowed(shape: Shape, cpus: str, thirds: str) -> bool:
    """What MESI allows: one owner or many readers, and modified data in one place."""
    clusters = [place.cluster for place in shape.cpus]
    owners = [cpu for cpu, state in enumerate(cpus) if state in "EM"]
    modified = [cluster for cluster, state in enumerate(thirds) if state == "M"]
    if owners and (len(owners) > 1 or "S" in cpus):
        return False
    if "M" in cpus and modified:
        return False
    alone = {clusters[cpu] for cpu in owners} | set(modified)
    elsewhere = {cluster for cluster, state in enumerate(thirds) if state != "I"} - alone
    holders = {clusters[cpu] for cpu, state in enumerate(cpus) if state != "I"}
    if alone and (len(alone) > 1 or elsewhere or not holders <= alone):
        return False
    # A CPU whose L3 alone has the line, modified, gets it E. S needs a second reader, and the L3 is its own.
    own = [cluster for cluster in modified if clusters.count(cluster) == 1]
    return not any(cpus[clusters.index(cluster)] == "S" for cluster in own)


def all_allowed(shape: Shape) -> set[str]:
    count = max(place.cluster for place in shape.cpus) + 1
    of_l3 = product("ISM" if shape.l3 else "I", repeat=count)
    pairs = product(map("".join, product("ISEM", repeat=len(shape.cpus))), map("".join, of_l3))
    return {f"{cpus} {thirds}" for cpus, thirds in pairs if allowed(shape, cpus, thirds)}


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_is_right_and_all_that_the_protocol_allows_are_reached(program: Path, name: str) -> None:
    shape, lines = MACHINES[name]
    *states, count = visit(program, shape, lines)
    assert set(states) == all_allowed(shape)
    assert int(count) > len(states)


BROKEN = {
    "a copy is not invalidated": (
        "memory_leave.c",
        "    memory_cache_clear(&a->s->cpu[c].second, a->line);\n",
        "",
        "the directory's sharers are wrong",
    ),
    "nobody is told of a write to a shared line": (
        "memory_model.c",
        "        memory_leave_others(a);\n    }",
        "    }",
        "an owner is not alone",
    ),
    "an L1 keeps what its L2 loses": (
        "memory_leave.c",
        "    memory_cache_clear(&s->cpu[c].data, line);\n",
        "",
        "an L1 has what its L2 has not",
    ),
    "an L1i keeps what its L2 loses": (
        "memory_leave.c",
        "if (memory_cache_clear(&s->cpu[c].code, line) && s->code_hook)",
        "if (s->code_hook)",
        "an L1 has what its L2 has not",
    ),
    "the L2 forgets a write-back": (
        "memory_leave.c",
        "        save(a, a->c, line, entry);\n",
        "        return;\n",
        "modified data is lost",
    ),
    "an owner that is read forgets a write-back": (
        "memory_leave.c",
        "        save(a, owner, a->line, a->entry);\n",
        "        return;\n",
        "modified data is lost",
    ),
    "the L3 forgets a write-back": (
        "memory_leave.c",
        "        write_back(a, MEMORY_MOVE_L3_BACK, line, c);",
        "        return;",
        "modified data is lost",
    ),
    "an L3 forgets to write back what another cluster reads": (
        "memory_leave.c",
        "    write_back(a, MEMORY_MOVE_L3_BACK, a->line, giver);\n",
        "",
        "modified data is lost",
    ),
    "an owner stays after a second reader": (
        "memory_leave.c",
        "    a->entry->owner = 0;\n",
        "",
        "the directory's owner is wrong",
    ),
    "an owner's L1 may still write after a second reader": (
        "memory_leave.c",
        "    memory_leave_as(&cpu->data, a->line, low);\n",
        "",
        "an L1 has what its L2 has not",
    ),
    "a second reader gets E": (
        "memory_model.c",
        "return elsewhere ? MEMORY_S : MEMORY_E;",
        "return MEMORY_E;",
        "the directory's owner is wrong",
    ),
    "a reader gets E though another L3 has the line": (
        "memory_model.c",
        "return (a->entry->l3 & ~memory_state_bit(a->s, a->c)) != 0;",
        "return false;",
        "another L3 has what a CPU owns",
    ),
    "a sharer is not noted": (
        "memory_model.c",
        "    memory_line_share(a->entry, a->c);\n",
        "",
        "the directory's sharers are wrong",
    ),
    "a sharer that has left is kept": (
        "memory_leave.c",
        "    memory_line_drop(entry, c);\n",
        "",
        "the directory's sharers are wrong",
    ),
    "other L3s keep what is written": (
        "memory_leave.c",
        "        memory_cache_clear(&s->third[cluster], a->line);\n",
        "",
        "another L3 has what a CPU owns",
    ),
    "the own L3 stays modified behind a writer": (
        "memory_model.c",
        "    }\n    memory_leave_thirds(a);\n",
        "    }\n",
        "modified twice",
    ),
    "an L3 stays modified though another cluster reads": (
        "memory_model.c",
        "    memory_leave_modified(a);\n",
        "",
        "modified in one L3, and in another one",
    ),
    "an L3 that has lost a line stays in the directory": (
        "memory_leave.c",
        "    entry->l3 &= ~memory_state_bit(a->s, c);\n",
        "",
        "the directory's L3s are wrong",
    ),
    "the owner is not asked": (
        "memory_model.c",
        "    if (entry->owner) {",
        "    if (false) {",
        "a CPU reads an old value",
    ),
    "memory is read though an L3 has newer data": (
        "memory_model.c",
        "    if (entry->l3_dirty) {",
        "    if (false) {",
        "a CPU reads an old value",
    ),
    "a write leaves the line clean": (
        "memory_model.c",
        "    memory_leave_as(&a->cpu->second, a->line, low);\n",
        "",
        "a CPU writes what it does not own",
    ),
}
"""What is replaced in a file, and what is then found."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_protocol_is_caught(tmp_path: Path, name: str) -> None:
    *change, words = BROKEN[name]
    program = build(tmp_path / "protocol", (DRIVER,), (), *change)
    assert any(visit(program, *machine)[0] == f"broken: {words}" for machine in MACHINES.values())
