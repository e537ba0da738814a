"""`benchgate compare`: which figures are compared, and how the table shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import UsageError
from benchgate.session import comparison
from tests.unit.evidence.test_figures_file import KEVLAR, micro, session

FIVE = [100.0, 101.0, 102.0, 103.0, 104.0]


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_two_sessions_of_different_systems(tmp_path: Path) -> None:
    one = session(tmp_path / "one", *micro("kernel", FIVE))
    more = [*micro("linux", [1.0], op="stat"), *micro("linux", [1.0], op="pipe", cpus=2)]
    other = session(tmp_path / "two", *micro("linux", [2 * cost for cost in FIVE]), *more)
    found = lines(comparison.text(str(one), str(other), ["cost"]))
    assert found[3:6] == [
        "figure A B A / B better",
        "-" * len(found[4]),
        "micro.op-getpid smp1 102.0 ns 204.0 ns 0.50 [0.49, 0.51] A",
    ]
    assert found[7] == "only in B: pipe smp2, stat"


def test_an_interval_around_1_is_of_neither_side(tmp_path: Path) -> None:
    one = session(tmp_path / "one", *micro("kernel", FIVE))
    other = session(tmp_path / "two", *micro("linux", [*FIVE[1:], 99.0]))
    assert lines(comparison.text(str(one), str(other), ["cost"]))[5].endswith("-")


def test_systems_of_one_session(tmp_path: Path) -> None:
    folder = session(tmp_path / "one", *micro("kernel", [70.0]), *micro("linux", [280.0]))
    assert "micro 70.00 ns 280.0 ns 0.25 A" in lines(
        comparison.text(f"{folder}:kernel", f"{folder}:linux", ["cost"])
    )
    with pytest.raises(UsageError, match="choose one with FOLDER:SYSTEM"):
        comparison.text(str(folder), f"{folder}:linux")


def test_a_session_and_the_json_of_kevlars_runner(tmp_path: Path) -> None:
    folder = session(tmp_path / "one", *micro("linux", [132.0]), *micro("linux", [132.0], cpus=2))
    (tmp_path / "kevlar.json").write_text(json.dumps(KEVLAR))
    found = lines(comparison.text(str(folder), str(tmp_path / "kevlar.json")))
    assert "getpid 132.0 ns 264.0 ns 0.50 A" in found


def test_nothing_in_common_is_an_error(tmp_path: Path) -> None:
    one = session(tmp_path / "one", *micro("linux", [1.0], op="stat"))
    other = session(tmp_path / "two", *micro("linux", [1.0], op="pipe"))
    with pytest.raises(UsageError, match="have no figure of the same workload"):
        comparison.text(str(one), str(other))


def test_figures_of_different_clocks_have_no_ratio(tmp_path: Path) -> None:
    one = session(tmp_path / "one", *micro("linux", FIVE))
    other = session(tmp_path / "two", *micro("linux", FIVE))
    text = (other / "metrics.csv").read_text()
    (other / "metrics.csv").write_text(text.replace(",tcg,", ",insn,"))
    assert lines(comparison.text(str(one), str(other), ["cost"]))[5] == (
        "micro 102.0 ns 102.0 ns clocks tcg and insn -"
    )


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kevlar.json").write_text(json.dumps(KEVLAR))
    path = str(tmp_path / "kevlar.json")
    assert cli.main(["compare", path, path]) == 0
    assert "1.00" in capsys.readouterr().out
    assert cli.main(["compare", path, str(tmp_path / "none")]) == 4


def on_machine(folder: Path, system: str, digest: str = "") -> str:
    made = session(folder, *micro(system, FIVE))
    if digest:
        machines = {"desktop8": {"digest": digest * 64, "text": ""}}
        (folder / "session.json").write_text(json.dumps({"machines": machines}))
    return str(made)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (("linux-desktop8", ""), ("linux", ""), "is on desktop8 .* is on ideal: figures of two machines"),
        (("linux-desktop8", ""), ("linux-desktop8", ""), r"is on desktop8 \(which, only a session.json in "),
        (("linux-desktop8", "c"), ("linux-desktop8", "d"), "is on desktop8 ccc.* is on desktop8 ddd"),
    ],
)
def test_two_machines_are_never_compared(
    tmp_path: Path, one: tuple[str, str], other: tuple[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        comparison.text(on_machine(tmp_path / "one", *one), on_machine(tmp_path / "two", *other))


def test_two_systems_on_one_machine_are_compared(tmp_path: Path) -> None:
    one = on_machine(tmp_path / "one", "linux-desktop8", "c")
    other = on_machine(tmp_path / "two", "kernel-desktop8", "c")
    assert "micro work 1.000 us 1.000 us 1.00 [1.00, 1.00] -" in lines(comparison.text(one, other))[5:]
