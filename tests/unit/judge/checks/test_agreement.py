"""A run is refused if run.json contradicts the command line, the affinities or the clock's log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.system.script import Script, ScriptStep
from benchgate.judge import verify
from benchgate.judge.checks.agreement import check_agreement, check_host
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.wirekit import (
    NONCE,
    PRIMES,
    console,
    guest_argv,
    primes_run,
    recorded,
    unframed,
    write_affinity,
    write_argv,
)

GOOD = recorded("good-linux-primes-smp2")
LINUX = catalog.load_system("linux")
NATIVE = catalog.load_system("native")
LOG = """insn-clock 1
level full
mode serial
seed 0
quantum 5000
fine 100
rush 25
vcpus 2
api 4 2 4
"""
CLOCK = ["-plugin", "/cache/insn.so,out=/my,,reports/runs/clock.log,seed=0"]


@pytest.fixture
def run(tmp_path: Path) -> RawRun:
    return primes_run(tmp_path, GOOD)


def on_the_clock(run: RawRun) -> RawRun:
    """The same run as a run of the instruction clock would be recorded."""
    log = run.folder / "clock.log"
    log.write_text(LOG)
    write_argv(run.folder, [*guest_argv(2), *CLOCK])
    write_affinity(run.folder, [[0, 1], [0, 1]])
    return replace(run, lane=Lane.INSN, placement=Placement.VIRTUAL, pins=(), clock_log=log)


def native(run: RawRun) -> RawRun:
    write_argv(run.folder, ["bench", *guest_argv(2)[-1].split()[-8:]])
    (run.folder / "affinity.json").write_text("[]")
    return replace(run, lane=Lane.NATIVE)


def test_runs_whose_files_agree_are_accepted(run: RawRun) -> None:
    assert verify.verify_on(run, PRIMES, LINUX).work > 0
    check_agreement(RunFiles(native(run)), NATIVE)
    check_agreement(RunFiles(on_the_clock(run)), LINUX)


def affinity(*found: list[int]) -> Callable[[RawRun], None]:
    return lambda run: write_affinity(run.folder, found)


def argv(**changes: str) -> Callable[[RawRun], None]:
    """QEMU's command line with other values of options (`smp="3"`)."""

    def edit(run: RawRun) -> None:
        words = guest_argv(2)
        for name, value in changes.items():
            words[words.index(f"-{name}") + 1] = value
        write_argv(run.folder, words)

    return edit


def clock_log(run: RawRun) -> None:
    (run.folder / "clock.log").write_text(LOG)


@pytest.mark.parametrize(
    ("edit", "changes", "said"),
    [
        (argv(accel="kvm"), {}, "says lane tcg, but argv.json is a command line of lane kvm"),
        (argv(), {"lane": Lane.KVM}, "says lane kvm, but argv.json is a command line of lane tcg"),
        (argv(smp="1"), {}, "says 2 CPUs, but argv.json asks for another number"),
        (argv(name="guest=benchgate-00,debug-threads=on"), {}, f"says nonce {NONCE}, but argv.json has"),
        (lambda run: write_argv(run.folder, [*guest_argv(2), *CLOCK]), {}, "command line of lane insn"),
        (clock_log, {}, "says lane tcg, but there is a log of the instruction clock"),
        (argv(), {"placement": Placement.OVERSUBSCRIBED}, "says placement oversubscribed, but it has 2 CPUs"),
        (affinity([0], [0]), {"pins": (0, 0)}, "says placement physical, but it has 2 CPUs on pins"),
        (argv(), {"pins": (0, 3)}, r"says pins \(0, 3\), but a thread in affinity.json was on CPUs \(1,\)"),
        (affinity([1], [0]), {}, r"says pins \(0, 1\), but a thread in affinity.json was on CPUs \(1,\)"),
        (affinity([0], [0, 1]), {}, r"but a thread in affinity.json was on CPUs \(0, 1\)"),
        (affinity([0]), {}, "says 2 CPUs, but affinity.json has threads of other vCPUs"),
        (affinity([0], [1], [2]), {}, "says 2 CPUs, but affinity.json has threads of other vCPUs"),
    ],
)
def test_a_contradiction_refuses_the_run(
    run: RawRun, edit: Callable[[RawRun], None], changes: dict[str, object], said: str
) -> None:
    edit(run)
    with pytest.raises(VerifyError, match=said):
        verify.verify_on(replace(run, **changes), PRIMES, LINUX)  # type: ignore[arg-type]


def asked_to_turn(run: RawRun, found: int | None = None) -> None:
    """The clock of this run is to turn to a seed, and says to which it has, if it has."""
    plugin = "/clock.so,out=/log,turn=100:7:0:0:0"
    write_argv(run.folder, [*guest_argv(2), *CLOCK, "-plugin", plugin])
    if found is not None:
        (run.folder / "clock.log").write_text(f"{LOG}turned 120 {found} 5000 100 25\n")


def test_a_run_whose_clock_turned_as_it_was_asked_is_accepted(run: RawRun) -> None:
    counted = on_the_clock(run)
    asked_to_turn(counted, 7)
    check_agreement(RunFiles(counted), LINUX)


@pytest.mark.parametrize(
    ("edit", "changes", "said"),
    [
        (argv(), {}, "says lane insn, but argv.json is a command line of lane tcg"),
        (lambda _: None, {"placement": Placement.PHYSICAL}, "says placement physical, but CPUs of the"),
        (lambda _: None, {"pins": (0, 1)}, "CPUs of the instruction clock are not pinned"),
        (
            lambda run: forge(run.folder / "clock.log", "vcpus 2", "vcpus 3"),
            {},
            "says 2 CPUs, but clock.log is of 3",
        ),
        (asked_to_turn, {}, "says seed 0, but the clock turned to other rules, or did not"),
        (lambda run: asked_to_turn(run, 8), {}, "the clock turned to other rules, or did not"),
    ],
)
def test_a_contradiction_on_the_instruction_clock_refuses_the_run(
    run: RawRun, edit: Callable[[RawRun], None], changes: dict[str, object], said: str
) -> None:
    counted = on_the_clock(run)
    edit(counted)
    with pytest.raises(VerifyError, match=said):
        check_agreement(RunFiles(replace(counted, **changes)), LINUX)  # type: ignore[arg-type]


def kept(run: RawRun) -> RawRun:
    """The guest of this run left its memory."""
    run = on_the_clock(run)
    words = ["-object", "memory-backend-file,id=ram,size=512M,mem-path=/proc/self/fd/5,share=on"]
    write_argv(run.folder, [*guest_argv(2), *CLOCK, *words])
    (run.folder / "memory.txt").write_text(f"benchgate-memory 1\ndigest {'a' * 64}\n")
    return run


def test_a_run_has_digests_of_its_memory_if_they_were_asked_for(run: RawRun) -> None:
    run = kept(run)
    check_agreement(RunFiles(run), LINUX)
    write_argv(run.folder, [*guest_argv(2), *CLOCK])
    with pytest.raises(VerifyError, match=r"memory\.txt of .* is of another run"):
        check_agreement(RunFiles(run), LINUX)


def test_a_run_whose_digests_of_memory_are_gone_is_refused(run: RawRun) -> None:
    run = kept(run)
    (run.folder / "memory.txt").unlink()
    with pytest.raises(VerifyError, match=r"memory\.txt of .* is missing"):
        check_agreement(RunFiles(run), LINUX)
    check_host(RunFiles(replace(run, exit_status=None)), LINUX)


def test_digests_of_another_form_refuse_the_run(run: RawRun) -> None:
    run = kept(run)
    (run.folder / "memory.txt").write_text("benchgate-memory 2\n")
    with pytest.raises(VerifyError, match=r"memory\.txt is not a file of digests"):
        check_agreement(RunFiles(run), LINUX)


def forge(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (guest_argv(2), "says lane native, but argv.json is a command line of lane tcg"),
        (["bench", "bench.cpus=3", f"bench.nonce={NONCE}"], "says 2 CPUs, but argv.json asks for another"),
        (["bench", "bench.cpus=2", "bench.nonce=00"], f"says nonce {NONCE}, but argv.json has another one"),
    ],
)
def test_a_contradiction_of_a_native_run_refuses_it(run: RawRun, words: list[str], said: str) -> None:
    other = native(run)
    write_argv(run.folder, words)
    with pytest.raises(VerifyError, match=said):
        check_agreement(RunFiles(other), NATIVE)


def test_a_worker_of_a_native_run_on_another_cpu_refuses_it(run: RawRun) -> None:
    other = native(run)
    thread = {"thread": 7, "name": "bench", "vcpu": None, "asked": [5], "found": [5]}
    (run.folder / "affinity.json").write_text(json.dumps([thread]))
    with pytest.raises(VerifyError, match=r"a thread in affinity.json was on CPUs \(5,\)"):
        check_agreement(RunFiles(other), NATIVE)


def test_a_guest_is_not_a_native_run(run: RawRun) -> None:
    with pytest.raises(VerifyError, match="says lane native, but"):
        check_agreement(RunFiles(native(run)), LINUX)


@pytest.mark.parametrize("name", ["argv.json", "affinity.json"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "{} has a wrong type"),
        ("[3]", "3 has a wrong type|is not an object"),
        ("null", "None has a wrong type"),
    ],
)
def test_a_file_that_benchgate_did_not_write_refuses_the_run(
    run: RawRun, name: str, text: str | None, said: str
) -> None:
    (run.folder / name).unlink()
    if text is not None:
        (run.folder / name).write_text(text)
    with pytest.raises(VerifyError, match=said):
        verify.verify_on(run, PRIMES, LINUX)


@pytest.mark.parametrize("asked", [True, False])
def test_measure_lines_belong_to_runs_that_asked_for_them(tmp_path: Path, asked: bool) -> None:
    run = primes_run(tmp_path, console(*unframed(GOOD), "measure phase=work cpu=0 name=idle_time value=7"))
    write_argv(tmp_path, guest_argv(2, measure=asked))
    if asked:
        assert verify.verify_on(run, PRIMES, LINUX).work > 0
        return
    with pytest.raises(VerifyError, match=r"printed measure lines, but argv\.json does not ask for them"):
        verify.verify_on(run, PRIMES, LINUX)


# ---- what was typed


SCRIPT = Script(r"^\$ $", (ScriptStep("go", r"^\$ $"),))
RECORD = [
    {"step": 0, "at": 20, "text": "go\n", "time": 5000},
    {"step": 1, "at": 40, "text": "", "time": 9000},
]


def typed(run: RawRun, inputs: str, record: list[dict[str, object]] | None = None) -> RawRun:
    """A run on the clock into which a line was typed: as the clock's log has it, and as conversation.json."""
    raw_run = on_the_clock(run)
    (raw_run.folder / "clock.log").write_text(LOG + inputs)
    (raw_run.folder / "conversation.json").write_text(json.dumps({"schema": 1, "typed": record or RECORD}))
    return raw_run


def test_what_was_typed_agrees_with_the_clocks_log(run: RawRun) -> None:
    asked = replace(LINUX, script=SCRIPT)
    check_agreement(RunFiles(typed(run, "typed 20 3 5000 100\n")), asked)


@pytest.mark.parametrize(
    "inputs",
    [
        "",
        "typed 20 3 5001 100\n",
        "typed 21 3 5000 100\n",
        "typed 20 4 5000 100\n",
        "typed 20 3 5000 100\n" * 2,
    ],
)
def test_a_conversation_that_the_clock_did_not_carry_is_refused(run: RawRun, inputs: str) -> None:
    with pytest.raises(
        VerifyError, match=r"conversation\.json says that lines were typed at .* clock\.log has"
    ):
        check_agreement(RunFiles(typed(run, inputs)), replace(LINUX, script=SCRIPT))


def test_nothing_is_typed_into_a_system_without_a_prompt(run: RawRun) -> None:
    with pytest.raises(
        VerifyError, match=r"conversation\.json says .* \[\], but clock\.log has \[\(20, 3, 5000\)\]"
    ):
        check_agreement(RunFiles(typed(run, "typed 20 3 5000 100\n")), LINUX)
