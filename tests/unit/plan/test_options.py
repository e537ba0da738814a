"""Options: their values, and the errors for invalid ones."""

from pathlib import Path

import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import CatalogError, OptionError, UsageError
from benchgate.base.paths import data_root
from benchgate.plan import catalog, options


def read(**given: object) -> options.Options:
    return options.read(lambda option: given.get(option.name.replace("-", "_")))


def test_without_options_the_documented_defaults_apply() -> None:
    result = read()
    assert (result.cpus, result.smp, result.systems) == (None, None, ("linux",))
    assert (result.accel, result.clock, result.runs, result.max_runs) == (None, "auto", 5, 25)
    assert (result.keep, result.lock_wait_s, result.gates) == (20, 600, True)


def test_text_becomes_values() -> None:
    result = read(
        cpus="0,2-3", smp="4,1", accel="kvm", runs="7", system=["linux", "native,x.yaml"], reports="r"
    )
    assert result.cpus == (0, 2, 3)
    assert result.smp == (1, 4)
    assert result.accel is Accel.KVM
    assert (result.runs, result.max_runs) == (7, 7)
    assert result.systems == ("linux", "native", "x.yaml")
    assert result.reports == Path("r").absolute()
    assert read(set=["primes.hi=300"]).sets == (("primes", "hi", "300"),)


@pytest.mark.parametrize(
    ("given", "looks"),
    [
        ({}, (5,)),
        ({"runs": "7"}, (7,)),
        ({"runs": "7", "seeds": "5"}, (5,)),
        ({"runs": "5", "seeds": "7"}, (7,)),
        ({"runs": "7", "seeds": "1"}, ()),
        ({"runs": "7", "seeds": "5", "max_runs": "15"}, (5, 9, 15)),
        ({"runs": "5", "seeds": "27", "max_runs": "25"}, (27,)),
    ],
)
def test_seeds_have_their_own_last_look(given: dict[str, object], looks: tuple[int, ...]) -> None:
    """Without --max-runs it is their first look, regardless of --runs."""
    result = read(**given)
    policy = catalog.load_policy("default").with_runs(result.seeds, result.max_seeds)
    assert policy.session_looks == looks


@pytest.mark.parametrize("given", [{"quick": True}, {"runs": "1"}, {"measure": True}])
def test_a_session_that_decides_nothing_has_a_reason(given: dict[str, object]) -> None:
    result = read(**given)
    assert not result.gates
    assert next(iter(given)).replace("_", "-") in result.why_no_gates


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cpus": "0,x"}, r"--cpus 0,x: `x` is not a number"),
        ({"cpus": "3-1"}, r"not an ascending range"),
        ({"cpus": "0-4096"}, r"more than 4096 CPUs are named"),
        ({"cpus": "0-2000,3000-5096"}, r"`3000-5096` .* more than 4096 CPUs are named"),
        ({"runs": "999999999"}, r"--runs 999999999: expected a whole number from 1 to 199"),
        ({"seeds": "201"}, r"--seeds 201: expected a whole number from 1 to 199"),
        ({"max_runs": "999999999"}, r"--max-runs 999999999: expected a whole number from 1 to 199"),
        ({"cpus": "1,1"}, r"contains a duplicate number"),
        ({"cpus": "-1"}, r"--cpus -1: `-1` is not a number"),
        ({"cpus": "0,\u0661"}, r"is not a number"),
        ({"cpus": "9" * 5000}, r"is not a number"),
        ({"keep": "\u0663"}, r"expected a whole number"),
        ({"max_runs": "9" * 5000}, r"expected a whole number"),
        ({"smp": "0,1"}, r"a CPU count must be from 1 to 64"),
        ({"smp": "65"}, r"a CPU count must be from 1 to 64"),
        ({"runs": "4"}, r"--runs 4: it must be odd and at least 5, or 1"),
        ({"runs": "3"}, r"--runs 3: it must be odd and at least 5, or 1"),
        ({"runs": "five"}, r"--runs five: expected a whole number"),
        ({"runs": "9", "max_runs": "5"}, r"--max-runs 5 is below --runs 9"),
        ({"set": ["hi=3"]}, r"--set hi=3: expected WORKLOAD\.KEY=VALUE"),
        ({"keep": "-1"}, r"--keep -1: expected a whole number"),
        ({"clock": "sand"}, r"--clock sand: expected one of auto, wall, insn"),
    ],
)
def test_an_invalid_value_is_refused_by_its_option(given: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message) as refused:
        read(**given)
    assert str(refused.value) == f"--{refused.value.option}{refused.value.what}"
    assert refused.value.option.replace("-", "_") in given


DESKTOP = str(data_root() / "fixtures" / "machines" / "desktop8.yaml")
POLICY = """\
name: mine
looks: [5, 9]
alpha: 0.03
overall_error: 0.05
first: 5
max_runs: 9
"""


def policy(folder: Path, line: str) -> str:
    (folder / "mine.yaml").write_text(POLICY + line)
    return str(folder / "mine.yaml")


def test_the_ideal_machine_is_the_default_and_changes_no_clock() -> None:
    assert (read().machine, read().clock) == ("ideal", "auto")
    assert read(machine="ideal", clock="wall").clock == "wall"


def test_a_machine_of_the_option_counts_more_than_that_of_the_policy(tmp_path: Path) -> None:
    mine = policy(tmp_path, "machine: desktop8\n")
    assert read(policy=mine).machine == "desktop8"
    assert read(policy=mine, machine="server2x16").machine == "server2x16"
    assert read(policy=mine, machine="ideal", clock="wall").machine == "ideal"


def test_a_path_in_a_policy_is_relative_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(Path(DESKTOP).read_text(encoding="utf-8"))
    assert read(policy=policy(tmp_path, "machine: ./own.yaml\n")).machine == str(tmp_path / "own.yaml")


def test_with_a_machine_auto_is_the_instruction_clock() -> None:
    assert read(machine=DESKTOP).clock == "insn"
    assert read(machine=DESKTOP, clock="both").clock == "both"


def test_wall_time_has_no_machines() -> None:
    with pytest.raises(UsageError, match="--machine desktop8: only the instruction clock has machines"):
        read(machine="desktop8", clock="wall")


def test_a_machine_of_a_policy_on_wall_time_names_the_policy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="policy mine: machine desktop8: only the instruction clock"):
        read(policy=policy(tmp_path, "machine: desktop8\n"), clock="wall")


def test_an_unknown_machine_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="--machine desktop: machine `desktop` is not known; did you mean"):
        read(machine="desktop")


def test_an_unknown_machine_of_a_policy_is_named_with_file_line_and_key(tmp_path: Path) -> None:
    wrong = policy(tmp_path, "machine: desktop\n")
    with pytest.raises(CatalogError, match=r"mine\.yaml:7: machine: machine `desktop` is not known; did you"):
        read(policy=wrong)


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ({}, "cold"),
        ({"start": "cold", "clock": "wall"}, "cold"),
        ({"start": "warm", "clock": "insn"}, "warm"),
        ({"start": "auto"}, "auto"),
        ({"start": "auto", "clock": "insn"}, "auto"),
        ({"start": "warm", "machine": "desktop8"}, "warm"),
    ],
)
def test_a_session_starts_cold_unless_it_is_told(given: dict[str, object], start: str) -> None:
    assert read(**given).start == start


@pytest.mark.parametrize("clock", ["auto", "wall", "both"])
def test_only_the_instruction_clock_starts_warm(clock: str) -> None:
    with pytest.raises(
        OptionError, match="--start warm: only the instruction clock starts warm; add --clock"
    ):
        read(start="warm", clock=clock)


def test_another_start_is_refused_and_the_boots_are_the_policys(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--start hot: expected one of cold, warm, auto"):
        read(start="hot", clock="insn")
    assert (read().boots, read(policy=policy(tmp_path, "boots: 3\n")).boots) == (5, 3)
    (tmp_path / "other").mkdir()
    with pytest.raises(CatalogError, match=r"mine\.yaml:1: .*boots must be from 1 to 199, not 0"):
        read(policy=policy(tmp_path / "other", "boots: 0\n"))
