"""What is proposed loads as a system and says what was guessed; what nobody could guess is marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchgate.base import console_text
from benchgate.base.paths import data_root
from benchgate.base.system.arch import ARCHITECTURES
from benchgate.base.system.boots import EndBy, Smoke
from benchgate.base.system.results import TYPED, LineWindow
from benchgate.base.system.systems import AskMethod, System
from benchgate.build.kernel_file import look
from benchgate.features.new_system.candidates import GuestWords, candidates
from benchgate.features.new_system.guesses import Guesses, guesses
from benchgate.features.new_system.listening import BootObservation, ListeningEnd, PromptStep
from benchgate.features.new_system.proposal import FILL_IN, Proposal, linux_text, missing, quoted
from benchgate.features.new_system.tests import test_guesses
from benchgate.plan import systemfile
from tests.unit.build.test_kernel_file import I386, MULTIBOOT, elf


@pytest.fixture
def machine(tmp_path: Path) -> System:
    """The last of those that are tried, with a disk."""
    path = tmp_path / "it's #1.elf"
    path.write_bytes(elf(I386, 32, body=MULTIBOOT))
    (tmp_path / "fs.img").write_bytes(b"x")
    given = GuestWords("mine", tmp_path / "mine.yaml", disks=(tmp_path / "fs.img",))
    return candidates(look(path), "x86_64", given)[-1]


def loaded(proposal: Proposal) -> System:
    return systemfile.parse(proposal.text, proposal.system.file, {})


def of(kernel: object, machine: System, *typed: str) -> Proposal:
    result = guesses({count: kernel(count) for count in (1, 2, 4)})  # type: ignore[operator]
    return Proposal(machine, "a 'quoted' kernel: #1", result, typed)


@given(st.text())
def test_any_quoted_text_is_read_as_it_was(text: str) -> None:
    assert yaml.safe_load(f"key: {quoted(text)}    # a comment") == {"key": text}


def booted(said: bytes, prompt: bytes, *, cpus: int) -> BootObservation:
    """A kernel that prints these bytes in each line, as listening.py reads a console."""
    lines = b"%s\n%s 7 rows\n%s took 5 us\nup: %d CPUs\n" % (said, said, said, cpus)
    text, waits = (console_text.plain(raw).decode("utf-8", "replace") for raw in (lines, prompt))
    step = PromptStep("go", ListeningEnd.PROMPT, text, note=text)
    ends = ListeningEnd.PROMPT if waits.strip() else ListeningEnd.QUIET
    steps = (step,) if waits.strip() else ()
    return BootObservation(cpus, ends, text + waits, prompt=waits if waits.strip() else "", steps=steps)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=12), st.binary(max_size=6).filter(lambda raw: b"\n" not in raw))
@example(b"Hit any key to stop autoboot:  2 \b\b\b 1", b"=> \b")
@example(b"\xe2\x80\xa8\xff\x00\x85", b"\x7f#")
def test_whatever_a_console_prints_is_written_so_that_it_can_be_read_back(
    machine: System, said: bytes, prompt: bytes
) -> None:
    found = guesses({count: booted(said, prompt, cpus=count) for count in (1, 2, 4)})
    proposal = Proposal(machine, "a kernel", found, ("go",))
    loaded(proposal)
    read = yaml.safe_load(proposal.text)
    assert read.get("prompt", "") == found.prompt
    assert read["console"].get("ready", "") == found.ready
    told = read["console"].get("online"), read["console"].get("online_lines")
    assert told == (found.online or (None if found.online_lines else "clock"), found.online_lines or None)
    if found.answers:
        assert read["result"]["answers"] == [found.answers[0].pattern]


def test_a_prompt_with_a_command_leaves_nothing_to_fill_in(machine: System) -> None:
    proposal = of(test_guesses.of_xv6, machine, "primes {workers} 60000")
    assert missing(proposal.text) == ()
    system = loaded(proposal)
    assert (system.ask, system.end.by) == (AskMethod.PROMPT, EndBy.KILL)
    assert system.script is not None
    assert [step.send for step in system.script.steps] == ["primes {workers} 60000"]
    assert system.result.expect == {"primes": "6057"}
    assert (system.qemu, system.boot.kernel, system.boot.disks) == (
        machine.qemu,
        "it's #1.elf",
        machine.boot.disks,
    )


@pytest.mark.parametrize(
    ("kernel", "ends"),
    [
        (test_guesses.of_ucore, "^primes: workers=[0-9]+ count=[0-9]+ ms=[0-9]+$"),
        (test_guesses.of_xv6, "^end ticks=[0-9]+$"),
    ],
)
def test_a_command_is_timed_from_what_was_typed(machine: System, kernel: object, ends: str) -> None:
    proposal = of(kernel, machine, "primes {workers} 1400")
    assert missing(proposal.text) == ()
    assert loaded(proposal).result.work == LineWindow(TYPED, ends)


def test_the_figure_of_a_command_is_named_for_wall_time(machine: System) -> None:
    said = PromptStep("go", ListeningEnd.PROMPT, "begin\nprimes=6057\n12 ms\n")
    result = guesses(
        {
            count: BootObservation(count, ListeningEnd.PROMPT, "up\n$ ", prompt="$ ", steps=(said,))
            for count in (1, 2)
        }
    )
    text = Proposal(machine, "", result, ("go",)).text
    assert "  #   begins: '^begin$'\n  #   pattern: '^(?P<value>[0-9.,]+) ms$'\n  #   unit: ms\n" in text


def test_a_comment_says_how_each_typed_line_ended(machine: System) -> None:
    """The comment is one line, whatever the guest printed."""
    note = "panic: \x1b[2J\u2028 # {n}: - ::error::\nversion: 7"
    bad = PromptStep("go", ListeningEnd.SUSPECT, note, note=note)
    result = guesses({1: BootObservation(1, ListeningEnd.PROMPT, "up\n$ ", prompt="$ ", steps=(bad,))})
    proposal = Proposal(machine, "", result, ("go", "halt"))
    assert "\n    # at 1 CPU it printed a line that looks like a panic: panic: \\x1b[2J" in proposal.text
    assert loaded(proposal).result.expect == {"answer": "0"}, "it is to be filled in"


def test_a_kernel_with_a_prompt_has_a_smoke_that_comes_up(machine: System) -> None:
    system = loaded(of(test_guesses.of_xv6, machine, "primes {workers} 60000"))
    assert system.smoke == Smoke(machine.boot.append, "^init: starting sh$")


def test_the_smoke_of_a_self_test_shows_its_answer(machine: System) -> None:
    smoke = loaded(of(test_guesses.of_a_self_test, machine)).smoke
    assert smoke == Smoke(machine.boot.append, "^primes=(?P<primes>[0-9]+)$")


def test_a_prompt_without_a_command_loads_and_says_what_is_missing(machine: System) -> None:
    proposal = of(test_guesses.of_xv6_riscv, machine)
    loaded(proposal)
    assert ["COMMAND" in line for line in missing(proposal.text)] == [True, False, False]


def test_a_self_test_is_judged_by_what_it_prints(machine: System) -> None:
    system = loaded(of(test_guesses.of_a_self_test, machine))
    assert (system.ask, system.console.online) == (AskMethod.SELFTEST, "^(?P<n>[0-9]+) CPUs? up$")
    assert system.result.expect == {"primes": "9592"}


def test_the_status_of_a_kernel_that_ends_qemu_is_kept(machine: System) -> None:
    system = loaded(of(test_guesses.of_unit_tests, machine))
    assert (system.end.by, system.end.exit_codes, system.end.may_reset) == (EndBy.EXIT, (1,), False)


def test_a_kernel_that_ends_by_a_reset_is_allowed_to(machine: System) -> None:
    result = Guesses(exit_status=0, resets=True, counts=(1, 2))
    system = loaded(Proposal(machine, "", result))
    assert (system.end.may_reset, system.end.exit_codes, system.cpus) == (True, (0,), (1, 2))


def test_a_kernel_that_printed_nothing_loads_too(machine: System) -> None:
    proposal = Proposal(machine, "", guesses({1: BootObservation(1, ListeningEnd.QUIET, "")}))
    loaded(proposal)
    assert len(missing(proposal.text)) == 2
    assert loaded(proposal).console.by_clock
    assert all(FILL_IN in line for line in missing(proposal.text))


@pytest.mark.parametrize("text", ["it's", "a: b # c", "'", "{n}", "\\d", "- x", "&a *b !c"])
def test_a_quoted_text_is_read_as_it_was(machine: System, text: str) -> None:
    proposal = Proposal(replace(machine, boot=replace(machine.boot, append=text)), text, Guesses())
    system = loaded(proposal)
    assert (system.boot.append, system.about) == (text, text)
    assert quoted(text).startswith("'")


BUILT_IN = data_root() / "fixtures" / "systems" / "linux.yaml"


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=str)
def test_only_its_image_and_its_name_differ(arch: object) -> None:
    text = linux_text(BUILT_IN.read_text(), "rt", "it's/bzImage", arch)  # type: ignore[arg-type]
    system = systemfile.parse(text, Path("/bench/rt.yaml"), {})
    model = systemfile.load(BUILT_IN, {"arch": str(arch)})
    assert (system.name, system.boot.kernel, system.arch, system.result.system) == (
        "rt",
        "it's/bzImage",
        arch,
        "linux",
    )
    same = replace(system, name=model.name, file=model.file, about=model.about, boot=model.boot)
    assert replace(same, result=model.result, settings=model.settings) == model
    assert replace(system.boot, kernel=model.boot.kernel, is_linux=True) == model.boot
