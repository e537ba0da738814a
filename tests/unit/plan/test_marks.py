"""The marks: the requests that they make, and the errors for invalid arguments."""

import re
from pathlib import Path
from types import FunctionType

import pytest

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.paths import data_root
from benchgate.base.workload.metrics import time_of
from benchgate.plan import marks
from benchgate.plan.mark_table import SHIPPED
from benchgate.plan.marks import MarkArguments
from benchgate.plan.planned import GateRequest
from tests.unit.plan.test_systemfile import LINES

PRIMES = MarkArguments(("primes",), {"hi": 3_000_000})


def speedup(**given: object) -> MarkArguments:
    return MarkArguments((), given)


def test_marks_become_a_request() -> None:
    gates = {"speedup": [speedup(cpus=4, at_least=3), speedup(cpus=2, at_least=1.6, insn=1.9)]}
    gates["gate"] = [
        MarkArguments(("verified",), {"cpus": 8}),
        MarkArguments(("control",), {"cpus": 16, "base": 2}),
    ]
    request = marks.read(PRIMES, gates)
    assert (request.workload, request.given) == ("primes", {"hi": 3_000_000})
    assert request.gates == (
        GateRequest("speedup", "", 2, 1, "work", 1.6, None, 1.9),
        GateRequest("speedup", "", 4, 1, "work", 3.0, None, None),
        GateRequest("verified", "", 8, None, "work", None, None, None),
        GateRequest("control", "", 16, 2, "work", None, None, None),
    )


def test_a_test_can_name_its_systems() -> None:
    assert marks.read(PRIMES, {}, [MarkArguments(("linux", "x.yaml"), {})]).systems == ("linux", "x.yaml")


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (speedup(cpu=2, at_least=1.6), r"mark speedup: no argument `cpu`; did you mean `cpus`\?"),
        (speedup(at_least=1.6), r"the argument `cpus` is missing, as in speedup\(cpus=2, at_least=1\.6\)"),
        (speedup(cpus=2), r"needs one of `at_least` and `at_most`, not both"),
        (speedup(cpus=2, at_least=1.6, at_most=1.1), r"needs one of `at_least` and `at_most`, not both"),
        (speedup(cpus=1, at_least=1.6), r"cpus=1 is not above base=1"),
        (speedup(cpus="2", at_least=1.6), r"cpus='2' is not a CPU count"),
        (speedup(cpus=True, at_least=1.6), r"cpus=True is not a CPU count"),
        (speedup(cpus=2, at_least="1.6"), r"at_least='1\.6' is not a ratio"),
        (speedup(cpus=2, at_least=-1), r"at_least=-1 is not a ratio"),
        (speedup(cpus=2, at_least=1.6, window="total"), r"`window` is now `metric`: write metric='total'"),
        (
            speedup(cpus=2, at_least=1.6, metric="totl"),
            r"workload primes: work, total, .*; did you mean `total`",
        ),
        (MarkArguments((2, 1.6), {}), r"use keyword arguments"),
    ],
)
def test_an_invalid_speedup_mark_is_refused(mark: MarkArguments, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        marks.read(PRIMES, {"speedup": [mark]})


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (None, r"needs @pytest\.mark\.workload"),
        (MarkArguments((), {}), r"mark workload: expected one name"),
        (MarkArguments(("primes", 3), {}), r"mark workload: expected one name"),
        (
            MarkArguments(("primes",), {"high": 3}),
            r"workload primes has no parameter `high`; did you mean `hi`\?",
        ),
    ],
)
def test_an_invalid_workload_mark_is_refused(mark: MarkArguments | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        marks.read(mark, {"speedup": [speedup(cpus=2, at_least=1.6)]})


def test_duplicate_gates_are_refused() -> None:
    with pytest.raises(UsageError, match="two gates of one test have the same kind"):
        marks.read(PRIMES, {"speedup": [speedup(cpus=2, at_least=1.6), speedup(cpus=2, at_least=1.7)]})


def test_a_users_kind_is_a_file_that_defines_kind(tmp_path: Path) -> None:
    rule = tmp_path / "fair.py"
    rule.write_text('KIND = "fair"\n')
    (gate,) = marks.read(PRIMES, {"gate": [MarkArguments((str(rule),), {"cpus": 2})]}).gates
    assert (gate.kind, gate.file) == ("fair", str(rule))
    for wrong in ('KIND = "No Name"\n', "KIND = 3\n", ""):
        rule.write_text(wrong)
        with pytest.raises(CatalogError, match=r"gate file .*fair\.py defines no KIND"):
            marks.read(PRIMES, {"gate": [MarkArguments((str(rule),), {"cpus": 2})]})


@pytest.mark.parametrize("args", [(), ("verified", "control"), (3,)])
def test_a_gate_mark_names_one_kind(args: tuple[object, ...]) -> None:
    with pytest.raises(UsageError, match="mark gate: expected one kind or file"):
        marks.read(PRIMES, {"gate": [MarkArguments(args, {"cpus": 2})]})


def test_a_system_mark_needs_names() -> None:
    with pytest.raises(UsageError, match="mark system: expected names"):
        marks.read(PRIMES, {}, [MarkArguments((), {"name": "linux"})])


def test_a_limit_may_be_a_length_of_time() -> None:
    """A window may be counted in cycles, so its gate says that the threshold is in ns."""
    (gate,) = marks.read(PRIMES, {"limit": [limit(at_most="20ms", insn="1.5us")]}).gates
    assert (gate.at_most, gate.insn, gate.settings) == (20_000_000, 1_500, (("unit", "ns"),))
    wake = MarkArguments(("wake",), {})
    (gate,) = marks.read(wake, {"limit": [limit(metric="wakeup_p99", at_most="20us")]}).gates
    assert (gate.at_most, gate.settings) == (20_000, ())
    with pytest.raises(UsageError, match="rounds_per_s takes a number in its unit, 'rounds/s'"):
        marks.read(wake, {"limit": [limit(metric="rounds_per_s", at_most="20us")]})


def limit(**kwargs: object) -> MarkArguments:
    return MarkArguments((), {"cpus": 2, "metric": "total", "at_most": 2_000_000, **kwargs})


def ratio(**kwargs: object) -> MarkArguments:
    return MarkArguments((), {"to": "linux", "cpus": 2, "at_least": 1.0, **kwargs})


def conserving(**kwargs: object) -> MarkArguments:
    return MarkArguments((), {"at_most": "0.5%", **kwargs})


@pytest.mark.parametrize(
    ("given", "at_most", "settings"),
    [
        ({}, 0.005, ()),
        ({"at_most": 0.005}, 0.005, ()),
        ({"at_most": 0}, 0.0, ()),
        ({"longest": "1ms"}, 0.005, (("longest", "1ms"),)),
        ({"longest": 2000}, 0.005, (("longest", "2000ns"),)),
        ({"held": "12.5%"}, 0.005, (("held", "0.125"),)),
        ({"held": 0.2}, 0.005, (("held", "0.2"),)),
    ],
)
def test_work_conserving_takes_a_share_and_a_length(
    given: dict[str, object], at_most: float, settings: tuple[tuple[str, str], ...]
) -> None:
    (gate,) = marks.read(PRIMES, {"work_conserving": [conserving(**given)]}).gates
    assert (gate.kind, gate.metric, gate.at_most, gate.cpus) == ("work_conserving", "wasted", at_most, 0)
    assert gate.settings == settings


def test_every_workload_has_the_metrics_of_threads() -> None:
    (gate,) = marks.read(PRIMES, {"limit": [limit(metric="sched_wait_p99", at_most=1e6)]}).gates
    assert gate.metric == "sched_wait_p99"


def test_a_limit_and_a_comparison_are_read() -> None:
    request = marks.read(PRIMES, {"limit": [limit(insn=1e9)], "ratio": [ratio(metric="total")]})
    assert request.gates == (
        GateRequest("limit", "", 2, None, "total", None, 2e6, 1e9),
        GateRequest("ratio", "", 2, None, "total", 1.0, None, None, "linux"),
    )


@pytest.mark.parametrize("word", ["20ms", "20 ms", "0.02s", "20000 us"])
def test_a_length_of_time_is_written_as_the_reports_print_it(word: str) -> None:
    assert time_of(word) == 20e6


@pytest.mark.parametrize(
    ("name", "mark", "message"),
    [
        (
            "limit",
            MarkArguments((), {"cpus": 2, "at_most": 1}),
            "mark limit: the argument `metric` is missing",
        ),
        ("limit", limit(metric="wake"), "metrics of workload primes: work, total"),
        ("limit", limit(metric=3), "metric=3 is not one of the metrics"),
        (
            "work_conserving",
            conserving(at_most="half"),
            "at_most='half': wasted takes a share such as `0.5%`",
        ),
        ("work_conserving", conserving(at_most="0.5"), "at_most='0.5': wasted takes a share such as `0.5%`"),
        ("work_conserving", conserving(longest="1 min"), "longest: '1 min' is not a length of time"),
        ("work_conserving", conserving(longest=True), "longest: 'True' is not a length of time"),
        ("work_conserving", conserving(held="120%"), "held='120%' is not a share"),
        ("work_conserving", conserving(held=True), "held=True is not a share"),
        ("work_conserving", conserving(held="1ms"), "held='1ms' is not a share"),
        ("work_conserving", MarkArguments((), {}), "the argument `at_most` is missing"),
        ("work_conserving", conserving(metric="work"), "no argument `metric`"),
        ("limit", limit(at_most="5%"), "at_most: '5%' is not a length of time"),
        ("limit", limit(at_least=1), "needs one of `at_least` and `at_most`, not both"),
        ("limit", limit(at_most=-1), "at_most=-1 is not a number from 0"),
        ("limit", limit(at_most=float("nan")), "is not a number from 0"),
        ("limit", limit(base=1), "mark limit: no argument `base`"),
        ("limit", limit(window="total"), "`window` is now `metric`"),
        ("limit", MarkArguments(("total",), {"cpus": 2}), "use keyword arguments, as in limit"),
        ("ratio", MarkArguments((), {"cpus": 2, "at_least": 1.0}), "the argument `to` is missing"),
        ("ratio", ratio(to=3), "to=3 is not a system's name or path"),
        ("ratio", ratio(to=""), "to='' is not a system's name or path"),
        ("ratio", ratio(sytem="linux"), "mark ratio: no argument `sytem`"),
        ("ratio", ratio(at_least=0), "is not a ratio above 0"),
    ],
)
def test_an_invalid_limit_or_comparison_is_refused(name: str, mark: MarkArguments, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        marks.read(PRIMES, {name: [mark]})


def test_the_mark_of_earlier_versions_is_refused_with_todays_word() -> None:
    with pytest.raises(UsageError, match="mark compare is now `ratio`, with the same arguments"):
        marks.read(PRIMES, {"compare": [ratio()]})


def test_two_systems_may_differ_by_more_than_the_largest_cpu_count() -> None:
    (gate,) = marks.read(PRIMES, {"ratio": [ratio(at_least=100)]}).gates
    assert gate.at_least == 100


class TestWorkloadsThatRunForAGivenTime:
    """How long they take is a parameter, so a gate of it would pass whatever the system does."""

    @pytest.mark.parametrize("workload", ["schbench", "scenario"])
    @pytest.mark.parametrize(
        ("name", "mark"),
        [
            ("speedup", speedup(cpus=2, at_least=1.6)),
            ("efficiency", speedup(cpus=2, at_least=0.8)),
            ("limit", limit(metric="total")),
            ("ratio", ratio()),
            ("scaling", MarkArguments((), {"model": "amdahl", "cpus": (1, 2, 4), "at_most": 0.05})),
        ],
    )
    def test_no_gate_may_be_of_the_windows_length(
        self, workload: str, name: str, mark: MarkArguments
    ) -> None:
        with pytest.raises(UsageError, match=rf"mark {name}: workload {workload} runs for as long as its "):
            marks.read(MarkArguments((workload,), {}), {name: [mark]})

    def test_the_message_names_the_other_metrics(self) -> None:
        with pytest.raises(UsageError, match=r"`work` is the same on every system: .*: .*rps, wakeup_p50"):
            marks.read(MarkArguments(("schbench",), {}), {"ratio": [ratio()]})

    @pytest.mark.parametrize(
        ("name", "mark"),
        [
            ("ratio", ratio(metric="rps")),
            ("overhead", MarkArguments((), {"cpus": 2, "at_most": 1.1})),
            ("gate", MarkArguments(("verified",), {"cpus": 2})),
            ("work_conserving", MarkArguments((), {"at_most": 0.01})),
        ],
    )
    def test_other_gates_are_allowed(self, name: str, mark: MarkArguments) -> None:
        assert marks.read(MarkArguments(("schbench",), {}), {name: [mark]}).gates


class TestUnverifiedPrograms:
    HACKBENCH = MarkArguments(("hackbench",), {})

    @pytest.mark.parametrize(
        "gates",
        [
            {"speedup": [speedup(cpus=2, at_least=1.6)]},
            {
                "gate": [
                    MarkArguments(("verified",), {"cpus": 2}),
                    MarkArguments(("control",), {"cpus": 2, "base": 1}),
                ]
            },
        ],
    )
    def test_no_gate_may_use_them(self, gates: dict[str, list[MarkArguments]]) -> None:
        with pytest.raises(UsageError, match=r"hackbench is unverified by the tool .* no gate may use them"):
            marks.read(self.HACKBENCH, gates)

    def test_their_cells_and_the_gate_that_uses_no_figure_are_allowed(self) -> None:
        assert not marks.read(self.HACKBENCH, {}).gates
        (gate,) = marks.read(self.HACKBENCH, {"gate": [MarkArguments(("verified",), {"cpus": 2})]}).gates
        assert gate.kind == "verified"

    def test_a_program_that_verifies_its_work_may_be_gated(self) -> None:
        assert marks.read(
            MarkArguments(("stress_ng",), {}), {"speedup": [speedup(cpus=2, at_least=1.6)]}
        ).gates


def test_a_gate_of_a_self_test_may_be_of_an_operation_of_its_system(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(LINES)
    system = MarkArguments((str(tmp_path / "mine.yaml"),), {})
    call = MarkArguments((), {"cpus": 1, "metric": "getpid", "at_most": 400})
    request = marks.read(MarkArguments(("selftest",), {}), {"limit": [call]}, [system])
    assert request.gates[0].metric == "getpid"
    with pytest.raises(UsageError, match="metric='stat' is not one of the metrics of workload selftest"):
        marks.read(
            MarkArguments(("selftest",), {}),
            {"limit": [MarkArguments((), {**call.kwargs, "metric": "stat"})]},
            [system],
        )


def law(**kwargs: object) -> MarkArguments:
    return MarkArguments((), {"model": "amdahl", "cpus": (1, 2, 4, 8), "at_most": 0.05, **kwargs})


def test_a_gate_over_several_arms_has_a_base_further_arms_and_a_cell() -> None:
    gates = {"scaling": [law()], "gate": [MarkArguments(("verified",), {"cpus": [2, 4, 16]})]}
    assert marks.read(PRIMES, gates).gates == (
        GateRequest("scaling", "", 8, 1, "work", None, 0.05, None, "", (2, 4), (("model", "amdahl"),)),
        GateRequest("verified", "", 16, 2, "work", None, None, None, "", (4,)),
    )


def test_an_efficiency_has_a_base_and_an_overhead_none() -> None:
    gates = {"efficiency": [speedup(cpus=4, at_least=0.8)], "overhead": [speedup(cpus=4, at_most=1.1)]}
    assert marks.read(PRIMES, gates).gates == (
        GateRequest("efficiency", "", 4, 1, "work", 0.8, None, None),
        GateRequest("overhead", "", 4, None, "work", None, 1.1, None),
    )


def test_two_parameters_of_one_law_are_two_gates() -> None:
    usl = [law(model="usl", parameter=name, cpus=(1, 2, 4, 8, 16)) for name in ("sigma", "kappa")]
    first, second = marks.read(PRIMES, {"scaling": usl}).gates
    assert dict(first.settings)["parameter"] != dict(second.settings)["parameter"]
    with pytest.raises(UsageError, match="two gates of one test have the same kind"):
        marks.read(PRIMES, {"scaling": [usl[0], usl[0]]})


@pytest.mark.parametrize(
    ("name", "mark", "message"),
    [
        ("scaling", MarkArguments((), {"cpus": (1, 2, 4), "at_most": 1}), "the argument `model` is missing"),
        (
            "scaling",
            law(cpus=(1, 4, 2)),
            r"cpus=\(1, 4, 2\) must be two or more CPU counts in ascending order",
        ),
        ("scaling", law(cpus=(1, 1, 2)), "in ascending order"),
        ("scaling", law(cpus=(4,)), "in ascending order"),
        ("scaling", law(cpus=(1, "2")), "cpus='2' is not a CPU count"),
        ("scaling", law(model="../x"), r"model='../x' is not a word"),
        ("scaling", law(parameter=3), "parameter=3 is not a word"),
        ("scaling", law(base=2), "no argument `base`"),
        ("scaling", law(at_least=0.1), "needs one of `at_least` and `at_most`, not both"),
        (
            "gate",
            MarkArguments(("verified",), {"cpus": (1, 2), "base": 1}),
            "of which the first one is the base",
        ),
        ("speedup", speedup(cpus=(1, 2), at_least=1.6), r"cpus=\(1, 2\) is not a CPU count"),
        ("overhead", speedup(cpus=2, at_most=1.1, metric="total"), "mark overhead: no argument `metric`"),
        ("efficiency", speedup(cpus=2, at_least=0.8, base=2), "cpus=2 is not above base=2"),
    ],
)
def test_an_invalid_gate_over_several_arms_is_refused(name: str, mark: MarkArguments, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        marks.read(PRIMES, {name: [mark]})


def test_a_test_may_name_its_machine() -> None:
    request = marks.read(MarkArguments(("primes",), {}), {}, machine=MarkArguments(("desktop8",), {}))
    assert request.machine == "desktop8"
    assert marks.read(MarkArguments(("primes",), {}), {}).machine == ""


@pytest.mark.parametrize(
    "mark",
    [
        MarkArguments((), {}),
        MarkArguments(("a", "b"), {}),
        MarkArguments((8,), {}),
        MarkArguments((), {"name": "x"}),
    ],
)
def test_a_machine_mark_has_one_word(mark: MarkArguments) -> None:
    with pytest.raises(UsageError, match="mark machine: expected one name or path"):
        marks.read(MarkArguments(("primes",), {}), {}, machine=mark)


def test_an_unknown_machine_of_a_mark_is_refused() -> None:
    with pytest.raises(CatalogError, match="machine `toaster` is not known"):
        marks.read(MarkArguments(("primes",), {}), {}, machine=MarkArguments(("toaster",), {}))


def of_a_page(function: FunctionType) -> tuple[MarkArguments | None, dict[str, list[MarkArguments]]]:
    """The workload's mark and the marks of gates of a function, as the plugin reads them."""
    own = [(one.name, MarkArguments(one.args, one.kwargs)) for one in getattr(function, "pytestmark", ())]
    gates: dict[str, list[MarkArguments]] = {}
    for name, mark in own:
        if name in SHIPPED:
            gates.setdefault(name, []).append(mark)
    return next((mark for name, mark in own if name == "workload"), None), gates


PAGES = ("docs/how-to/sched-ext.md", "docs/how-to/compare-two.md", "README.md")


def read_of_page(page: str) -> int:
    """How many gates a page shows, each of which is read."""
    text = (data_root() / page).read_text()
    read = 0
    for fence in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if "mark.workload(" not in fence:
            continue
        names: dict[str, object] = {"pytest": pytest}
        exec(fence, names)
        for function in (one for one in names.values() if isinstance(one, FunctionType)):
            workload, gates = of_a_page(function)
            read += len(marks.read(workload, gates).gates)
    return read


@pytest.mark.parametrize("page", PAGES)
def test_the_gates_that_a_page_shows_are_accepted(page: str) -> None:
    assert read_of_page(page)
