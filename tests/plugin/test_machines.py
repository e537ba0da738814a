"""--machine, its ini key, the policy's key and the mark, as users write them."""

from __future__ import annotations

import pytest

from benchgate.base.paths import data_root
from tests.plugin.conftest import Rig
from tests.unit.machines import DUO

POLICY = (data_root() / "fixtures/gates/default.yaml").read_text(encoding="utf-8")
MARKED = """\
import pytest

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.machine("{machine}")
def test_every_run_is_right(cell):
    cell.require_verified()
"""


def planned(rig: Rig, *words: str) -> list[str]:
    """The names of the cells that --plan prints, with what follows."""
    result = rig.run("--plan", "--smp=1,8", "--clock=auto", *words)
    assert result.ret == 0, result.stderr.str()
    lines = [line.strip() for line in result.outlines if line.strip().startswith("cell ")]
    return [line.split(None, 1)[1] for line in lines]


def test_the_rows_of_an_option_say_its_machine_and_auto_is_the_instruction_clock(rig: Rig) -> None:
    cells = planned(rig, "--machine=server2x16")
    assert [line.split(":")[0] for line in cells] == [
        "primes.hi-10000-fake-server2x16-smp1",
        "primes.hi-10000-fake-server2x16-smp2",
        "primes.hi-10000-fake-server2x16-smp8",
    ]
    assert cells[-1].startswith(
        f"{cells[-1].split(':')[0]}: process, lane insn, virtual, CPUs 0-7 of server2x16,"
    )


def test_a_machine_of_ones_own_by_path_and_more_cpus_than_it_has(rig: Rig) -> None:
    (rig.folder / "duo.yaml").write_text(DUO)
    cells = planned(rig, f"--machine={rig.folder / 'duo.yaml'}")
    assert cells[-1] == "primes.hi-10000-fake-duo-smp8: SKIP: machine duo: it has 4 CPUs, fewer than 8"


def test_the_ini_key_is_relative_to_its_file_and_the_option_counts_more(rig: Rig) -> None:
    (rig.pytester.path / "duo.yaml").write_text(DUO)
    rig.pytester.makeini("[pytest]\nbenchgate_machine = ./duo.yaml\n")
    assert "-fake-duo-smp1:" in planned(rig)[0]
    assert "-fake-desktop8-smp1:" in planned(rig, "--machine=desktop8")[0]
    assert "-fake-smp1:" in planned(rig, "--machine=ideal")[0]


def test_a_policy_may_name_the_machine(rig: Rig) -> None:
    (rig.folder / "mine.yaml").write_text(
        f"{POLICY}machine: desktop8\n".replace("name: default", "name: mine")
    )
    policy = f"--policy={rig.folder / 'mine.yaml'}"
    assert "-fake-desktop8-smp1:" in planned(rig, policy)[0]
    assert "-fake-server2x16-smp1:" in planned(rig, policy, "--machine=server2x16")[0]


def test_a_mark_counts_more_than_the_option(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=MARKED.format(machine="desktop8"))
    assert "-fake-desktop8-smp1:" in planned(rig, "--machine=server2x16")[0]
    rig.pytester.makepyfile(test_scaling=MARKED.format(machine="ideal"))
    assert "-fake-smp1:" in planned(rig, "--machine=server2x16")[0]


def test_a_mark_on_wall_time_is_a_skip_with_its_reason(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=MARKED.format(machine="desktop8"))
    why = "SKIP: machine desktop8: it needs the instruction clock: use --clock insn"
    assert [line.split(": ", 1)[1] for line in planned(rig, "--clock=wall")] == [why, why]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--machine=desktop8", "--clock=wall"),
            "--machine desktop8: only the instruction clock has machines",
        ),
        (
            ("--machine=desktop9",),
            "--machine desktop9: machine `desktop9` is not known; did you mean `desktop8`*ideal, manycore64",
        ),
        (("-o", "benchgate_machine=desktop9"), "-o benchgate_machine desktop9: machine `desktop9` is not"),
        (("--machine=./absent.yaml",), "absent.yaml*"),
        (("--machine=./bad.yaml",), "bad.yaml:9: clusters: CPU 3 is in none of them"),
    ],
)
def test_a_mistake_is_answered_in_one_sentence(rig: Rig, words: tuple[str, ...], message: str) -> None:
    (rig.pytester.path / "bad.yaml").write_text(
        DUO.replace('clusters: ["0-1", "2-3"]', 'clusters: ["0-1", "2"]')
    )
    result = rig.run("--plan", "--clock=auto", *words)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{message}*"])
    assert "Traceback" not in result.stderr.str()


def test_a_mistake_in_the_ini_file_names_the_file_and_the_key(rig: Rig) -> None:
    rig.pytester.makeini("[pytest]\nbenchgate_machine = desktop9\n")
    result = rig.run("--plan")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*/tox.ini: benchgate_machine desktop9: machine `desktop9` is not known*"])
    assert "-fake-desktop8-smp1:" in planned(rig, "--machine=desktop8")[0]


def test_a_mistake_on_the_command_line_is_not_laid_on_the_ini_file(rig: Rig) -> None:
    rig.pytester.makeini("[pytest]\nbenchgate_machine = desktop8\n")
    rig.run("--plan", "--machine=desktop9").stderr.fnmatch_lines(["*--machine desktop9: machine *"])


def test_a_machine_mark_without_a_name_is_a_collection_error(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=MARKED.replace('("{machine}")', "()"))
    result = rig.run("--plan", "--clock=insn")
    result.stdout.fnmatch_lines(["*mark machine: expected one name or path*"])
