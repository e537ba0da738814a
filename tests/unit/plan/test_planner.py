"""Planning: cells, gates, order, seats, and a reason for every skip."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import UsageError
from benchgate.base.paths import data_root
from benchgate.plan import marks, planner, preview
from benchgate.plan.marks import MarkArguments
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, MarkRequest, SweepPlan, expected_runs, run_order
from benchgate.plan.seats import reseat
from tests.unit import plans
from tests.unit.factories import POLICY
from tests.unit.plan.test_systemfile import SELFTEST

TWO = Ground(pins=(0, 1), smt_pins=(0, 1), lanes={"qemu": (Lane.TCG, ""), "native": (Lane.NATIVE, "")})
INSN = replace(TWO, lanes={"qemu": (Lane.INSN, ""), "native": (Lane.NATIVE, "no instruction clock")})


def request(*cpus: int, **given: object) -> MarkRequest:
    gates = [MarkArguments((), {"cpus": count, "at_least": 1.6 * count / 2, "insn": 1.9}) for count in cpus]
    return marks.read(MarkArguments(("primes",), given), {"speedup": gates})


def test_cells_are_the_counts_that_fit_the_pins_and_those_that_gates_need() -> None:
    cells = planner.plan_cells(request(), Options(), TWO)
    assert [cell.cell.id for cell in cells] == ["primes-linux-smp1", "primes-linux-smp2"]
    assert [cell.seats.pins for cell in cells] == [(0,), (0, 1)]
    cells = planner.plan_cells(request(2, 4), Options(), TWO)
    assert [cell.cell.cpus for cell in cells] == [1, 2, 4]
    assert cells[2].skip == "4 CPUs need 4 host CPUs to pin to, there are 2 (0,1)"


def test_oversubscribed_cells_run_only_on_request_and_are_labelled() -> None:
    cells = planner.plan_cells(request(4), Options(oversubscribe=True), TWO)
    assert cells[-1].skip == ""
    assert cells[-1].seats.placement is Placement.OVERSUBSCRIBED


def test_a_count_outside_smp_is_skipped_with_that_reason() -> None:
    (gate,) = planner.plan_gates(request(2), Options(smp=(1, 4)), TWO)
    assert gate.skip == "--smp is 1,4"


def test_the_instruction_clock_needs_no_pins() -> None:
    cells = planner.plan_cells(request(4), Options(smp=(1, 4, 32)), INSN)
    assert [cell.cell.cpus for cell in cells] == [1, 4, 32]
    assert not any(cell.skip or cell.seats.pins for cell in cells)


def test_a_system_without_a_lane_is_skipped_with_the_lanes_reason() -> None:
    cells = planner.plan_cells(request(), Options(systems=("native",)), INSN)
    assert {cell.skip for cell in cells} == {"no instruction clock"}


def test_with_both_clocks_guests_have_a_row_on_each_and_native_linux_on_wall_time() -> None:
    ground = replace(TWO, no_insn="")
    options = Options(systems=("linux", "native"), clock="both")
    cells = planner.plan_cells(request(2, 4), options, ground)
    rows: dict[str, list[object]] = {}
    for planned_cell in cells:
        rows.setdefault(planned_cell.cell.row, []).append(
            (planned_cell.cell.cpus, planned_cell.seats.lane, bool(planned_cell.skip))
        )
    assert rows == {
        "primes-linux-wall": [(1, Lane.TCG, False), (2, Lane.TCG, False), (4, Lane.TCG, True)],
        "primes-linux-insn": [(1, Lane.INSN, False), (2, Lane.INSN, False), (4, Lane.INSN, False)],
        "primes-native-wall": [(1, Lane.NATIVE, False), (2, Lane.NATIVE, False), (4, Lane.NATIVE, True)],
    }
    sweeps = planner.sweeps(cells, planner.plan_gates(request(2, 4), options, ground))
    assert [(sweep.row, len(sweep.gates)) for sweep in sweeps] == [(row, 2) for row in rows]
    text = preview.describe(sweeps, options, POLICY, 1)
    assert "wall time decides if this host qualifies" in text


def test_a_clock_that_qemu_cannot_carry_is_skipped_with_that_reason() -> None:
    options = Options(clock="both")
    cells = planner.plan_cells(request(2), options, replace(TWO, no_insn=""))
    (_, insn) = planner.sweeps(cells, ())
    again = reseat(insn, replace(TWO, no_insn="no plugins"), options)
    assert {cell.skip for cell in again.cells} == {"no plugins"}
    assert {cell.seats.lane for cell in again.cells} == {Lane.INSN}


def test_the_first_row_of_a_system_and_workload_repeats_a_seed() -> None:
    rows = [
        *planner.plan_cells(request(split="one"), Options(smp=(64,)), replace(INSN, pins=())),
        *planner.plan_cells(request(2), Options(systems=("linux", "kernel")), INSN),
        *planner.plan_cells(request(hi=20_000), Options(systems=("linux", "kernel")), INSN),
    ]
    sweeps = planner.sweeps(rows, ())
    repeats = [sweep.row for sweep in sweeps if sweep.repeats]
    assert [sweep.row for sweep in sweeps if sweep.runnable][:4] == [
        "primes.split-one-linux",
        "primes-linux",
        "primes-kernel",
        "primes.hi-20000-linux",
    ]
    assert repeats == ["primes.split-one-linux", "primes-kernel"]
    more = {
        sweep.row: expected_runs(sweep, Options(), POLICY).total() - 5 * len(sweep.runnable)
        for sweep in sweeps
    }
    assert [row for row, extra in more.items() if extra == 1] == repeats


def test_changed_parameters_name_the_row_and_set_takes_precedence() -> None:
    (cell, *_) = planner.plan_cells(request(hi=20000), Options(), TWO)
    assert cell.cell.id == "primes.hi-20000-linux-smp1"
    (cell, *_) = planner.plan_cells(request(hi=20000), Options(sets=(("primes", "hi", "30000"),)), TWO)
    assert cell.cell.param("hi") == 30000


def test_quick_rows_show_their_parameters_and_keep_their_test_ids() -> None:
    (cell, *_) = planner.plan_cells(request(), Options(quick=True), TWO)
    hi = cell.cell.param("hi")
    assert hi != 3_000_000
    assert (cell.cell.id, cell.test_cell.id) == (f"primes.hi-{hi}-linux-smp1", "primes-linux-smp1")
    (gate,) = planner.plan_gates(request(2), Options(quick=True), TWO)
    assert (gate.gate.id, gate.id) == (f"primes.hi-{hi}-linux-smp2", "primes-linux-smp2")


def test_two_tests_that_quick_makes_equal_are_measured_once_with_two_gates() -> None:
    options = Options(quick=True)
    small, large = request(2, hi=20_000), replace(request(2), gates=request(4).gates)
    small = replace(small, gates=(replace(small.gates[0], at_least=1.2),))
    large = replace(large, gates=(replace(large.gates[0], cpus=2),))
    gates = [*planner.plan_gates(small, options, TWO), *planner.plan_gates(large, options, TWO)]
    assert [gate.id for gate in gates] == ["primes.hi-20000-linux-smp2", "primes-linux-smp2"]
    (sweep,) = planner.sweeps([], gates)
    assert len(sweep.cells) == 2
    assert len({gate.gate.id for gate in sweep.gates}) == 2


def test_a_selected_gate_adds_both_of_its_arms() -> None:
    (gate,) = planner.plan_gates(request(2), Options(), TWO)
    (sweep,) = planner.sweeps([], [gate])
    assert [cell.cell.id for cell in sweep.cells] == ["primes-linux-smp1", "primes-linux-smp2"]
    assert [planned_gate.id for planned_gate in sweep.gates] == ["primes-linux-smp2"]


def test_each_row_is_one_sweep() -> None:
    cells = planner.plan_cells(request(), Options(systems=("linux", "native")), TWO)
    assert [sweep.row for sweep in planner.sweeps(cells, [])] == ["primes-linux", "primes-native"]


def test_the_same_system_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="names the same system twice"):
        planner.plan_cells(request(), Options(systems=("linux", "linux")), TWO)


def test_two_files_with_one_name_are_refused(tmp_path: Path) -> None:
    cell = plans.planned(1)
    twin = replace(cell, workload=replace(cell.workload, file=Path("/mine/primes.yaml")))
    with pytest.raises(
        UsageError, match=r"two workloads are called `primes`: .*primes/workload.yaml and /mine/"
    ):
        planner.check_names([cell, twin])
    other = replace(cell, system=replace(cell.system, name="linux.tick-slow", file=tmp_path / "linux.yaml"))
    with pytest.raises(UsageError, match=r"two systems are called `linux`: .* and .*linux\.yaml"):
        planner.check_names([cell, other])
    planner.check_names(
        [cell, plans.planned(2), replace(cell, system=replace(cell.system, name="linux.x-y"))]
    )


def test_each_round_has_every_arm_once_and_every_second_round_is_reversed() -> None:
    result = run_order(("a", "b", "c"), 6, seed=7)
    rounds = [result[k : k + 3] for k in range(0, 18, 3)]
    assert all(Counter(one) == Counter("abc") for one in rounds)
    assert rounds[1] == rounds[0][::-1]
    assert rounds[2] == rounds[0]
    assert result == run_order(("a", "b", "c"), 6, seed=7)
    assert len({run_order(("a", "b", "c"), 1, seed) for seed in range(20)}) > 1


def test_a_linear_drift_affects_all_arms_equally() -> None:
    result = run_order(("a", "b"), 6, seed=1)
    places = {arm: [k for k, text in enumerate(result) if text == arm] for arm in "ab"}
    assert sum(places["a"]) == sum(places["b"])


def test_the_plan_shows_cells_order_lanes_pins_skips_and_minutes() -> None:
    cells = planner.plan_cells(request(2, 4), Options(), TWO)
    text = preview.describe(
        planner.sweeps(cells, planner.plan_gates(request(2, 4), Options(), TWO)), Options(), POLICY, 3
    )
    assert "cell   primes-linux-smp2: process, lane tcg, physical, pins 0,1, 5 runs (up to 25, " in text
    assert "if undecided) + 1 warm-up" in text
    assert "cell   primes-linux-smp4: SKIP: 4 CPUs need 4 host CPUs" in text
    assert "gate   primes-linux-smp2: speedup of work over smp1, at least 1.6" in text
    assert "gate   primes-linux-smp4: speedup of work over smp1, at least 3.2: SKIP: 4 CPUs need" in text
    assert "order seed 3; about 0.8 minutes; nothing was booted" in text


def test_include_smt_adds_a_row_that_is_never_gated() -> None:
    ground = replace(TWO, smt_pins=(0, 1, 2, 3))
    cells = planner.plan_cells(request(), Options(include_smt=True), ground)
    assert [cell.cell.id for cell in planner.with_smt_row(cells, ground, Options(include_smt=True))] == [
        "primes-linux-smp1",
        "primes-linux-smp2",
        "primes-linux-smp4-smt",
    ]
    assert planner.with_smt_row(cells, ground, Options()) == cells


def test_smp_excludes_gates_but_not_the_base_of_a_requested_one() -> None:
    for ground in (TWO, INSN):
        cells = planner.plan_cells(request(2, 4), Options(smp=(2,)), ground)
        assert [cell.cell.cpus for cell in cells] == [2]
        (sweep,) = planner.sweeps(cells, planner.plan_gates(request(2, 4), Options(smp=(2,)), ground))
        assert [cell.cell.cpus for cell in sweep.runnable] == [1, 2]
        assert [bool(gate.skip) for gate in sweep.gates] == [False, True]
        assert sweep.gates[1].skip == "--smp is 2"


def compared(to: str, *systems: str, ground: Ground = INSN, **changes: object) -> tuple[SweepPlan, ...]:
    options = replace(Options(systems=systems), **changes)  # type: ignore[arg-type]
    mark = MarkArguments((), {"to": to, "cpus": 2, "at_least": 1.0})
    asked = marks.read(MarkArguments(("primes",), {}), {"ratio": [mark]})
    return planner.sweeps((), planner.plan_gates(asked, options, ground))


def test_a_comparison_adds_the_other_systems_cell_and_interleaves_both_in_one_sweep() -> None:
    (sweep,) = compared("linux", "kernel")
    assert sweep.rows == ("primes-linux", "primes-kernel")
    assert [cell.cell.id for cell in sweep.runnable] == ["primes-linux-smp2", "primes-kernel-smp2"]
    (gate,) = sweep.gates
    assert (gate.gate.id, gate.gate.base and gate.gate.base.id) == (
        "primes-kernel-smp2-ratio-to-linux",
        "primes-linux-smp2",
    )
    assert [cell.cell.system for cell in sweep.repeated] == ["linux", "kernel"]
    assert expected_runs(sweep, Options(), POLICY).total() == 12
    text = preview.describe((sweep,), Options(), POLICY, 1)
    assert "sweep primes-linux and primes-kernel\n" in text
    assert "ratio of work to linux, at least 1" in text


def test_a_letter_is_the_nth_system_of_the_session_and_is_not_compared_with_itself() -> None:
    (sweep,) = compared("A", "kernel", "linux", "kernel:sched=rr")
    assert sweep.rows == ("primes-kernel", "primes-linux", "primes-kernel.sched-rr")
    bases = [(gate.gate.cell.system, gate.gate.base and gate.gate.base.system) for gate in sweep.gates]
    assert bases == [("linux", "kernel"), ("kernel.sched-rr", "kernel")]
    (sweep,) = compared("B", "kernel", "linux")
    assert [gate.gate.id for gate in sweep.gates] == ["primes-kernel-smp2-ratio-to-linux"]


def test_a_letter_without_its_system_is_refused_and_alone_a_system_has_nothing_to_compare_with() -> None:
    with pytest.raises(UsageError, match=r'to="B" is number 2 .* has linux only; give --system once more'):
        compared("B", "linux")
    (sweep,) = compared("A", "linux")
    assert [gate.gate.base for gate in sweep.gates] == [sweep.gates[0].gate.cell]


def test_rows_that_no_gate_connects_keep_their_own_sweeps() -> None:
    cells = planner.plan_cells(request(2), Options(systems=("linux", "kernel")), INSN)
    assert [sweep.rows for sweep in planner.sweeps(cells, ())] == [("primes-linux",), ("primes-kernel",)]


def test_three_systems_that_are_compared_with_one_share_a_sweep() -> None:
    (sweep,) = compared("linux", "kernel", "kernel:sched=rr")
    assert len(sweep.rows) == 3
    assert len(sweep.gates) == 2


def test_a_system_on_another_lane_is_not_measured_for_a_comparison() -> None:
    (sweep,) = compared("native", "linux", ground=TWO)
    assert sweep.rows == ("primes-linux",)
    assert [cell.cell.id for cell in sweep.runnable] == ["primes-linux-smp2"]
    assert "different lanes" in sweep.gates[0].skip
    again = reseat(sweep, INSN, Options())
    assert "different lanes" in again.gates[0].skip


def test_with_both_clocks_a_comparison_stays_on_one_clock() -> None:
    sweeps = compared("linux", "kernel", ground=replace(TWO, no_insn=""))
    assert [sweep.rows for sweep in sweeps] == [
        ("primes-linux-wall", "primes-kernel-wall"),
        ("primes-linux-insn", "primes-kernel-insn"),
    ]


def test_a_comparison_excluded_by_smp_excludes_both_cells() -> None:
    (sweep,) = compared("linux", "kernel", smp=(4,))
    assert not sweep.runnable
    assert "--smp is 4" in sweep.gates[0].skip


def test_a_system_that_cannot_run_the_workload_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SELFTEST)
    with pytest.raises(UsageError, match="mark ratio: system mine cannot run primes"):
        compared(str(file), "kernel")


def test_a_gate_over_several_arms_adds_all_of_them_to_its_sweep() -> None:
    mark = MarkArguments((), {"model": "amdahl", "cpus": (1, 2, 4, 8), "at_most": 0.05})
    asked = marks.read(MarkArguments(("primes",), {}), {"scaling": [mark]})
    options = Options(systems=("linux",), clock="insn")
    (gate,) = planner.plan_gates(asked, options, INSN)
    assert gate.id == "primes-linux-smp8-scaling-amdahl"
    assert [arm.cell.cpus for arm in gate.arms] == [1, 2, 4, 8]
    assert gate.gate.cells == tuple(arm.cell for arm in gate.arms)
    (sweep,) = planner.sweeps((), [gate])
    assert [planned_cell.cell.cpus for planned_cell in sweep.cells] == [1, 2, 4, 8]
    shown = preview.describe((sweep,), options, POLICY, 1)
    assert f"gate   {gate.id}: scaling of work over smp1, smp2, smp4, model amdahl, at most 0.05" in shown
    again = reseat(sweep, replace(INSN, lanes={**INSN.lanes, "qemu": (Lane.INSN, "no clock")}), options)
    assert [arm.skip for arm in again.gates[0].arms] == ["no clock"] * 4


def test_smp_excludes_a_gate_over_several_arms_with_all_that_it_adds() -> None:
    mark = MarkArguments((), {"model": "amdahl", "cpus": (1, 2, 4), "at_most": 0.05})
    asked = marks.read(MarkArguments(("primes",), {}), {"scaling": [mark]})
    (gate,) = planner.plan_gates(asked, Options(systems=("linux",), clock="insn", smp=(1, 2)), INSN)
    assert all("--smp is 1,2" in arm.skip for arm in gate.arms)


# ---- machines


def on(machine: str, *cpus: int) -> MarkRequest:
    return replace(request(*cpus), machine=machine)


def test_rows_on_a_machine_say_it_and_those_on_the_ideal_one_do_not() -> None:
    cells = planner.plan_cells(request(), Options(machine="desktop8", smp=(2,)), INSN)
    assert [(planned_cell.cell.id, planned_cell.cell.machine) for planned_cell in cells] == [
        ("primes-linux-desktop8-smp2", "desktop8")
    ]
    cells = planner.plan_cells(request(), Options(machine="ideal", smp=(2,)), INSN)
    assert [(planned_cell.cell.id, planned_cell.cell.machine) for planned_cell in cells] == [
        ("primes-linux-smp2", "")
    ]


def test_the_machine_of_a_mark_counts_more_than_the_sessions() -> None:
    cells = planner.plan_cells(on("server2x16"), Options(machine="desktop8", smp=(2,)), INSN)
    assert [planned_cell.cell.system for planned_cell in cells] == ["linux-server2x16"]
    cells = planner.plan_cells(on("ideal"), Options(machine="desktop8", smp=(2,)), INSN)
    assert [planned_cell.cell.system for planned_cell in cells] == ["linux"]


def test_more_cpus_than_the_machine_has_are_a_skip_with_that_reason() -> None:
    cells = planner.plan_cells(on("desktop8"), Options(smp=(8, 16)), INSN)
    assert [cell.skip for cell in cells] == ["", "machine desktop8: it has 8 CPUs, fewer than 16"]


def test_a_machine_needs_the_instruction_clock() -> None:
    (cell,) = planner.plan_cells(on("desktop8"), Options(smp=(2,)), TWO)
    assert cell.skip == "machine desktop8: it needs the instruction clock: use --clock insn"
    (cell,) = planner.plan_cells(on("desktop8"), Options(smp=(2,)), replace(INSN, no_machine="QEMU is old"))
    assert cell.skip == "machine desktop8: QEMU is old"


def test_native_linux_is_on_no_machine() -> None:
    native = Options(systems=("native",), smp=(2,))
    (cell,) = planner.plan_cells(on("desktop8"), native, TWO)
    assert cell.skip == "machine desktop8: native Linux has the caches of this host"


def test_with_both_clocks_only_the_instruction_clock_has_the_machine() -> None:
    ground = replace(TWO, no_insn="")
    options = Options(systems=("linux", "native"), clock="both", machine="desktop8", smp=(2,))
    cells = planner.plan_cells(request(), options, ground)
    assert [(planned_cell.cell.row, planned_cell.skip) for planned_cell in cells] == [
        ("primes-linux-wall", ""),
        ("primes-linux-desktop8-insn", ""),
        ("primes-native-wall", ""),
    ]


def test_both_systems_of_a_ratio_are_on_one_machine() -> None:
    asked = marks.read(
        MarkArguments(("primes",), {}),
        {"ratio": [MarkArguments((), {"to": "linux", "cpus": 2, "at_least": 1.0})]},
    )
    (gate,) = planner.plan_gates(asked, Options(systems=("kernel",), machine="server2x16"), INSN)
    assert [arm.cell.system for arm in gate.arms] == ["linux-server2x16", "kernel-server2x16"]
    assert gate.id == "primes-kernel-server2x16-smp2-ratio-to-linux-server2x16"


@pytest.mark.parametrize(("clock", "ground"), [("wall", TWO), ("both", replace(TWO, no_insn=""))])
def test_a_system_that_starts_warm_is_refused_where_a_row_is_on_wall_time(clock: str, ground: Ground) -> None:
    options = Options(systems=("linux:start=warm",), clock=clock)
    with pytest.raises(
        UsageError, match=r"start-warm.* is on lane tcg, and only the instruction clock starts"
    ):
        planner.plan_cells(request(), options, ground)
    cold = replace(options, systems=("linux",))
    assert planner.plan_cells(request(), cold, ground)


def test_a_warm_and_a_cold_system_meet_in_no_ratio() -> None:
    said = r"ratio: linux\.start-warm starts warm and linux cold; their figures are not compared"
    for systems, to in ((("linux", "linux:start=warm"), "A"), (("linux:start=warm", "linux"), "A")):
        with pytest.raises(UsageError, match=said):
            compared(to, *systems, clock="insn")
    with pytest.raises(UsageError, match=r"linux\.start-warm starts warm and kernel cold"):
        compared("kernel", "linux:start=warm", clock="insn")
    for word in ("linux", "linux:start=warm"):
        (sweep,) = compared("kernel", word, clock="insn", start="auto")
        assert sweep.rows == ("primes-kernel.start-warm", "primes-linux.start-warm")
    (sweep,) = compared("linux:start=warm", "linux:kernel=/bin/sh:start=warm", clock="insn")
    assert sweep.rows == ("primes-linux.start-warm", "primes-linux.kernel-sh.start-warm")
    (sweep,) = compared("kernel", "linux:start=cold", clock="insn", start="auto")
    assert sweep.rows == ("primes-kernel", "primes-linux")


def test_two_machines_of_one_name_are_refused(tmp_path: Path) -> None:
    text = Path(data_root() / "fixtures" / "machines" / "desktop8.yaml").read_text(encoding="utf-8")
    (tmp_path / "desktop8.yaml").write_text(text.replace("local_ns: 66", "local_ns: 67"))
    options = Options(smp=(2,))
    cells = [
        plan_cell
        for word in ("desktop8", str(tmp_path / "desktop8.yaml"))
        for plan_cell in planner.plan_cells(on(word), options, INSN)
    ]
    with pytest.raises(UsageError, match="two machines are called `desktop8`"):
        planner.check_names(cells)


def test_the_plan_says_which_cpus_of_the_machine_a_cell_has() -> None:
    cells = planner.plan_cells(on("desktop8"), Options(smp=(4,)), INSN)
    text = preview.describe(planner.sweeps(cells, ()), Options(clock="insn"), POLICY, 1)
    assert "primes-linux-desktop8-smp4: process, lane insn, virtual, CPUs 0-3 of desktop8, no pins" in text
