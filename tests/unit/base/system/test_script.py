"""Scripts for a prompt: places are filled in, and no value can leave its line."""

from __future__ import annotations

import pytest

from benchgate.base.cells import Cell, Mode
from benchgate.base.errors import UsageError
from benchgate.base.system.script import Script, ScriptStep, port_values, values_of

CELL = Cell("sh", "count", Mode.PROCESS, (("hi", 3000), ("order", "up")), 2)


def sent(line: str, **values: object) -> str | None:
    script = Script("^# $", (ScriptStep(line, "^# $"),))
    return script.filled({**values_of(CELL, "abc"), **values}).steps[0].send


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("primes {workers} {hi}", "primes 2 3000"),
        ("{workload} {order} {nonce} {cpus}", "count up abc 2"),
        ("awk '{ print }' ${X} {}", "awk '{ print }' ${X} {}"),
        ("", ""),
    ],
)
def test_places_are_filled(line: str, typed: str) -> None:
    assert sent(line) == typed


def test_a_step_that_types_nothing_stays_so() -> None:
    assert Script("# ", (ScriptStep(None, "# "),)).filled({}).steps[0].send is None


def test_a_place_without_a_value_is_refused() -> None:
    with pytest.raises(UsageError, match=r"step 1 types \{high\}, which has no value; there are cpus, hi,"):
        sent("primes {high}")


@pytest.mark.parametrize("value", ["up\nreboot", "up\rx", "\x03", "\x1b[2J", "\u202e"])
def test_a_value_cannot_leave_its_line(value: str) -> None:
    with pytest.raises(UsageError, match=r"step 1 cannot type .* control character"):
        sent("sort {order}", order=value)


def test_a_line_has_a_bound() -> None:
    with pytest.raises(UsageError, match="more than 1024 bytes"):
        sent("x" * 1025)


def test_the_places_of_a_script_are_known() -> None:
    steps = (ScriptStep("a {hi}", "# "), ScriptStep("b {workers} {port.ssh}", "# "))
    assert Script("# ", steps).places == {"hi", "workers", "port.ssh"}


def test_what_is_typed_is_shown_before_a_run() -> None:
    """A port is chosen for each run, and a step may only wait."""
    steps = (
        ScriptStep(None, "# ", expect="up"),
        ScriptStep("primes {workers} {hi}", "# "),
        ScriptStep("get {port}\x1b", "# "),
    )
    shown = Script("# ", steps).shown(values_of(CELL, "abc"))
    assert shown == "`primes 2 3000`; `get {port}\\x1b`"


def test_a_single_port_has_a_short_name() -> None:
    assert port_values({"web": 7}) == {"port.web": 7, "port": 7}
    assert port_values({"web": 7, "ssh": 8}) == {"port.web": 7, "port.ssh": 8}
