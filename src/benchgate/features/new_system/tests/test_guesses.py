"""Guesses from consoles as real kernels print them, and nothing where the consoles prove nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchgate.features.new_system.guesses import Guesses, guesses, literal
from benchgate.features.new_system.listening import BootObservation, ListeningEnd, PromptStep


def of_xv6(cpus: int) -> BootObservation:
    """Each CPU prints a line; there is a prompt, at which a command was typed."""
    up = "".join(f"cpu{cpu}: starting {cpu}\n" for cpu in reversed(range(cpus)))
    said = f"begin\nprimes=6057\nend ticks={300 // cpus}\n"
    text = f"xv6...\n{up}sb: size 1000 nblocks 941\ninit: starting sh\n$ \n$ "
    return BootObservation(
        cpus, ListeningEnd.PROMPT, text, prompt="$ ", steps=(PromptStep("primes", ListeningEnd.PROMPT, said),)
    )


def of_xv6_riscv(cpus: int) -> BootObservation:
    """Each hart but the first prints a line."""
    up = "".join(f"hart {hart} starting\n" for hart in range(1, cpus))
    return BootObservation(
        cpus, ListeningEnd.PROMPT, f"\nxv6 kernel is booting\n\n{up}init: starting sh\n$ \n$ ", prompt="$ "
    )


def of_unit_tests(cpus: int) -> BootObservation:
    """It says how many CPUs it found, and ends QEMU with a status of its own."""
    up = "".join(f"setup: CPU {cpu} online\n" for cpu in range(1, cpus))
    called = "".join(f"ipi called, cpu {cpu}\n" for cpu in range(cpus))
    text = (
        f"enabling apic\n{up}smp: waiting for {cpus - 1} APs\nfound {cpus} cpus\n{called}SUMMARY: 1 tests\n"
    )
    return BootObservation(cpus, ListeningEnd.EXITED, text, status=1)


def of_a_self_test(cpus: int) -> BootObservation:
    up = "1 CPU up" if cpus == 1 else f"{cpus} CPUs up"
    text = f"fixed v1.2\n{up}\ncounting\nprimes=9592\nwork: {9000 / cpus} us\nhalted\n"
    return BootObservation(cpus, ListeningEnd.QUIET, text)


def of_ucore(cpus: int) -> BootObservation:
    """Its firmware draws its name and counts all harts; the first one prints no line; it prints addresses,
    and a command prints one line."""
    up = "".join(f"[ucore] start hart {hart}\n" for hart in reversed(range(1, cpus)))
    firmware = f"   ____  \nPlatform HART Count       : {cpus}\n"
    text = f"{firmware}[ucore] s_bss=0x802a6000\n{up}C user shell\n>> \n>> "
    said = f"primes: workers={cpus} count=222 ms={40 // cpus}\nShell: Process 2 exited with code 0\n"
    return BootObservation(
        cpus,
        ListeningEnd.PROMPT,
        text,
        prompt=">> ",
        steps=(PromptStep("primes", ListeningEnd.PROMPT, said),),
    )


def guessed(kernel: object, *counts: int) -> Guesses:
    return guesses({count: kernel(count) for count in counts or (1, 2, 4)})  # type: ignore[operator]


def test_a_kernel_with_a_line_for_each_cpu_and_a_prompt() -> None:
    result = guessed(of_xv6)
    assert result.prompt == r"^\$ $"
    assert result.ready == "^init: starting sh$"
    assert (result.online, result.online_lines) == ("", "^cpu[0-9]+: starting [0-9]+$")
    (figure,) = result.figures
    assert (figure.unit, figure.begins) == ("ticks", "^begin$")
    assert re.search(figure.pattern, "end ticks=12", re.MULTILINE)
    assert result.answers[0].expect == {"primes": "6057"}
    assert (result.exit_status, result.counts) == (None, (1, 2, 4))


def test_a_line_for_each_cpu_but_the_first() -> None:
    result = guessed(of_xv6_riscv)
    assert result.online_lines == "^(?:init: starting sh|hart [0-9]+ starting)$"
    assert (result.figures, result.answers, result.lines) == ((), (), ()), "a boot log has no answers"


def test_a_number_of_cpus_and_a_status() -> None:
    result = guessed(of_unit_tests)
    assert result.online == "^found (?P<n>[0-9]+) cpus?$"
    assert result.exit_status == 1
    assert result.answers[0].pattern == "^SUMMARY: (?P<summary>[0-9]+) tests$"
    assert result.lines == ("^enabling apic$", "^SUMMARY: 1 tests$")


def test_a_figure_and_the_line_before_its_work() -> None:
    result = guessed(of_a_self_test)
    assert re.search(result.online, "1 CPU up")
    assert re.search(result.online, "2 CPUs up")
    (figure,) = result.figures
    assert (figure.unit, figure.begins) == ("us", "^counting$"), "the answer's line is not where it begins"
    assert result.answers[0].expect == {"primes": "9592"}


def test_a_command_that_prints_its_result_only() -> None:
    result = guessed(of_ucore)
    assert result.online == "", "firmware proves nothing"
    assert result.online_lines == r"^(?:C user shell|\[ucore\] start hart [0-9]+)$"
    (figure,) = result.figures
    assert (figure.unit, figure.begins) == ("ms", "")
    assert [answer.expect for answer in result.answers] == [{"count": "222"}, {"process": "2", "code": "0"}]
    assert re.search(result.answers[0].pattern, "primes: workers=2 count=222 ms=20")
    assert result.lines == ("typed", "^Shell: Process 2 exited with code 0$")


def test_a_time_that_happens_to_be_equal_is_no_answer_and_an_address_neither() -> None:
    boots = {
        count: BootObservation(count, ListeningEnd.QUIET, "begin\nat 0x10\nn=3 took 4.5 ms\n")
        for count in (1, 2)
    }
    assert [answer.expect for answer in guesses(boots).answers] == [{"n": "3"}]


def test_only_the_numbers_that_are_equal_everywhere_are_answers() -> None:
    boots = {
        count: BootObservation(
            count, ListeningEnd.QUIET, f"begin\nhi=50 workers={count} count=15 count=15 in {99 - count}\n"
        )
        for count in (1, 2)
    }
    (answer,) = guesses(boots).answers
    assert answer.expect == {"hi": "50", "count": "15", "count3": "15"}
    assert re.search(answer.pattern, "hi=50 workers=7 count=15 count=15 in 3")


def test_two_cpu_counts_do_not_prove_a_line_for_each_cpu_but_the_first() -> None:
    assert guessed(of_xv6_riscv, 1, 2).online_lines == ""


def test_one_cpu_count_proves_nothing_of_cpus() -> None:
    result = guessed(of_a_self_test, 1)
    assert (result.online, result.online_lines) == ("", "")


def test_a_boot_that_ends_otherwise_is_not_counted() -> None:
    boots = {
        1: of_xv6(1),
        2: of_xv6(2),
        4: BootObservation(4, ListeningEnd.SUSPECT, "panic: apic", "panic: apic"),
    }
    assert guesses(boots).counts == (1, 2)


@pytest.mark.parametrize("numbers", [(1, 1, 1), (1, 2, 3), (2, 4, 8)])
def test_a_number_that_is_not_the_cpu_count_is_none(numbers: tuple[int, ...]) -> None:
    counts = dict(zip((1, 2, 4), numbers, strict=True))
    boots = {
        count: BootObservation(count, ListeningEnd.QUIET, f"found {number} cpus\n")
        for count, number in counts.items()
    }
    assert guesses(boots).online == ""


@given(st.binary(max_size=40).filter(lambda line: b"\n" not in line))
@example(b"cpu 1 \x80\xff\xc3( up")
@example(b"\xf0\x9f(")
def test_a_pattern_matches_the_bytes_that_were_heard(line: bytes) -> None:
    """The console is searched as bytes while the guest runs, and as text afterwards."""
    text = line.decode("utf-8", "replace")
    pattern = f"^{literal(text)}$"
    assert re.fullmatch(pattern.encode(), line, re.DOTALL)
    assert re.fullmatch(pattern, text, re.DOTALL)


def test_a_line_that_was_typed_over_is_no_answer() -> None:
    """The countdown of U-Boot; a terminal shows only its end."""

    def text(cpus: int) -> BootObservation:
        return BootObservation(cpus, ListeningEnd.QUIET, "up\nkey: 3\b\b 2\b\b 1\nprimes=9592\n")

    assert [answer.line for answer in guessed(text).answers] == ["primes=9592"]


def test_a_console_cannot_write_a_pattern() -> None:
    text = r"a.*(b)[c]{2}\d$^|?+"
    assert re.fullmatch(literal(text), text)
    assert re.fullmatch(literal(text), "axxbcc") is None


def typed(cpus: int, *steps: PromptStep) -> BootObservation:
    return BootObservation(cpus, ListeningEnd.PROMPT, f"{cpus} CPUs up\n$ \n$ ", prompt="$ ", steps=steps)


@pytest.mark.parametrize("stop", [end for end in ListeningEnd if end is not ListeningEnd.PROMPT])
def test_what_a_line_prints_whose_prompt_does_not_come_back_is_no_answer(stop: ListeningEnd) -> None:
    """Also if it is the same at each CPU count, as the text of a panic may be."""
    said = "begin\npanic: code 17\n5 ms\n"
    result = guesses({count: typed(count, PromptStep("go", stop, said, note="x")) for count in (1, 2, 4)})
    assert (result.answers, result.doubtful, result.figures, result.lines) == ((), (), (), ())
    assert (result.answered, result.counts) == (False, (1, 2, 4))


def test_a_line_that_ends_otherwise_with_more_cpus() -> None:
    good = PromptStep("go", ListeningEnd.PROMPT, "primes=6057\n")
    bad = PromptStep("go", ListeningEnd.SUSPECT, "panic: 17\n", note="panic: 17")
    result = guesses({1: typed(1, good), 2: typed(2, bad), 4: typed(4, bad)})
    assert (result.counts, result.up) == ((1,), (1, 2, 4))
    assert result.online == "^(?P<n>[0-9]+) CPUs? up$", "it came up with each"
    assert [answer.expect for answer in result.answers] == [{"primes": "6057"}]
    (ending,) = result.endings
    assert re.search("^at 1 CPU its prompt .*; at 2, 4 CPUs .*: panic: 17$", ending)


def test_a_line_behind_one_that_ended_otherwise_was_not_typed() -> None:
    good = PromptStep("go", ListeningEnd.PROMPT, "primes=6057\n")
    result = guesses({1: typed(1, good, good), 2: typed(2, replace(good, stop=ListeningEnd.QUIET))})
    assert result.endings[1] == "at 1 CPU its prompt came back; at 2 CPUs it was not typed"


def test_a_typed_line_that_turns_the_machine_off_gives_the_status() -> None:
    steps = PromptStep("go", ListeningEnd.PROMPT, "primes=6057\n"), PromptStep("halt", ListeningEnd.EXITED)
    boots = {count: replace(typed(count, *steps), status=0) for count in (1, 2)}
    result = guesses(boots)
    assert (result.exit_status, result.answers[0].expect) == (0, {"primes": "6057"})


@pytest.mark.parametrize(
    "line",
    [
        "Set thread priority to 10",
        "setting the priority to 10",
        "Using 4096 tables",
        "Creating 12 buffers",
        "stack of 4096 bytes",
        "coremark version 1.0",
        "main: policy 2",
    ],
)
def test_a_line_about_the_set_up_is_no_answer(line: str) -> None:
    boots = {
        count: typed(count, PromptStep("go", ListeningEnd.PROMPT, f"{line}\n{9 - count} ms\n"))
        for count in (1, 2)
    }
    result = guesses(boots)
    assert (result.answers, result.doubtful) == ((), (line,))


def test_a_number_that_was_printed_before_most_of_the_work_is_no_answer() -> None:
    step = PromptStep("go", ListeningEnd.PROMPT, "42 tables\nprimes=6057\n", early="42 tables\n")
    result = guesses({count: typed(count, step) for count in (1, 2)})
    assert [answer.line for answer in result.answers] == ["primes=6057"]
    assert result.doubtful == ("42 tables",)
