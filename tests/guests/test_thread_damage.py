"""An `observe:` with a mistake: no books come of it, but a refusal, or a sentence that names the event which
contradicts others. Each case is one that somebody could write for a kernel of his own. Without a mistake
there are books (test_thread_witness.py). tests/unit/judge/accounts/threads has contradictions without guests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.observe import Formula, HookKind, ObserveDefinition, formula
from benchgate.build.fetch import inputs
from benchgate.insn.arguments import Records
from benchgate.insn.kallsyms import linux_symbols
from benchgate.insn.observe.resolve import observe_file
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.accounting import thread_books
from benchgate.judge.accounts.threads.books import ThreadBooks
from benchgate.plan import catalog
from tests.ternkit import Bootkit
from tools.clock_lab import light_lab

CPUS, WORKERS = 4, 8
NAMED = re.compile(r"/threads:\d+: ")


@dataclass(frozen=True)
class Mistake:
    """`at` or a key of a hook, or of `thread`, that has another value."""

    about: str
    hook: HookKind | None
    values: dict[str, str]
    at: tuple[str, ...] = ()


SWITCH, WAKE = HookKind.SWITCH, HookKind.WAKE
MISTAKES = (
    Mistake("the id is at a wrong offset", None, {"id": "u32(thread + 4)"}),
    Mistake("the id is that of the process", None, {"id": "thread->tgid"}),
    Mistake("blocked is at a wrong offset", SWITCH, {"blocked": "!u32(from + 16)"}),
    Mistake("blocked is read from on_cpu", SWITCH, {"blocked": "!from->on_cpu"}),
    Mistake("the state is another bit", SWITCH, {"dead": "from->__state & 2"}),
    Mistake("the next thread is the one before", SWITCH, {"to": "arg0"}),
    Mistake("the queue's length is another counter", SWITCH, {"queue": "percpu(runqueues).nr_switches"}),
    Mistake("the queue's length is of CPU 0", SWITCH, {"queue": "runqueues.nr_running"}),
    Mistake("the queue's length is one too few", WAKE, {"queue": "arg0->nr_running"}),
    Mistake("the queue is always CPU 0's", WAKE, {"cpu": "0"}),
    Mistake(
        "the wake-up's symbol is that of every try",
        WAKE,
        {"thread": "arg0", "when": "1"},
        ("try_to_wake_up",),
    ),
    Mistake("only one class's wake-ups are seen", WAKE, {}, ("enqueue_task_fair",)),
    Mistake("the wake-up's symbol is that of an end", WAKE, {"when": "1"}, ("dequeue_task_fair",)),
    Mistake("the wake-up's symbol is unknown", WAKE, {}, ("enqueue_task_fare",)),
    Mistake("forks are not seen", HookKind.FORK, {}, ("do_exit",)),
)
SHORT = "blocked is read from on_cpu"


def damaged(whole: ObserveDefinition, mistake: Mistake) -> ObserveDefinition:
    values: dict[str, tuple[Formula, ...]] = {key: (formula(text),) for key, text in mistake.values.items()}
    if mistake.hook is None:
        return replace(whole, values={**whole.values, **values})
    hooks = tuple(
        replace(hook, at=mistake.at or hook.at, values={**hook.values, **values})
        if hook.kind is mistake.hook
        else hook
        for hook in whole.hooks
    )
    assert hooks != whole.hooks
    return replace(whole, hooks=hooks)


def books_with(folder: Path, mistake: Mistake) -> ThreadBooks:
    setup, observe, whole = light_lab(), folder / "observe", catalog.load_system("linux").observe
    assert whole is not None
    chosen = damaged(whole, mistake)
    observe.write_text(observe_file(chosen, setup.kernel, linux_symbols(setup.qemu, setup.kernel)))
    records = Records(threads=folder / "threads", observe=observe)
    done = setup.boot("witness", CPUS, "schedstats=enable", workers=WORKERS, seed=1, records=records)
    assert done.good, done.console + done.errors
    return thread_books(read_thread_events(folder / "threads"))


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(
            one, id=one.about.replace(" ", "-"), marks=() if one.about == SHORT else pytest.mark.long
        )
        for one in MISTAKES
    ],
)
def test_a_mistake_gives_no_books(tmp_path: Path, mistake: Mistake) -> None:
    with pytest.raises(VerifyError) as refused:
        books_with(tmp_path, mistake)
    said = str(refused.value)
    assert NAMED.search(said) or said.startswith("observe."), said
    print(said)


OFFSET = re.compile(r"#([0-9a-f]{1,4}) (?=[-+])|(?<=[at0-9]) ()(?=l[1248])")
"""In a program of the plugin: a field's offset, or that there is none."""
SHORT_OFFSETS = ("switch.dead", "switch.blocked")
NEITHER_TEXT_NOR_WRONG = ("thread.name",)
"""A wrong name may be empty, or a text: it contradicts nothing (docs/how-to/threads.md)."""


def with_each_offset_wrong(text: str) -> Iterator[tuple[str, str]]:
    """(hook and key, the plugin's file) with each offset 8 bytes further, and 8 bytes before."""
    lines, of = text.splitlines(), "thread"
    for number, line in enumerate(lines):
        key, _, rest = line.partition(" ")
        of = rest if key == "hook" else of
        if key in ("at", "text", "hook"):
            continue
        for match in OFFSET.finditer(line):
            for change in (8, -8):
                offset = int(match[1] or "0", 16) + change
                if offset < 0:
                    continue
                wrong = f"#{offset:x} " if match[1] else f" #{offset:x} + "
                word = line[: match.start()] + wrong + line[match.end() :]
                yield f"{of}.{key}", "\n".join([*lines[:number], word, *lines[number + 1 :], ""])


@pytest.mark.parametrize("some", [SHORT_OFFSETS, pytest.param((), marks=pytest.mark.long)])
def test_tern_with_one_offset_wrong_gives_no_books(some: tuple[str, ...], tmp_path: Path) -> None:
    """Each offset of `observe:`, one at a time."""
    kit, system = Bootkit(tmp_path, inputs.qemu(), insn=True), catalog.load_system("kernel")
    image = kit.files(system, "tasks").kernel
    assert system.observe is not None
    assert image is not None
    right = observe_file(system.observe, image, image)
    assert kit.run(system, "tasks", 2, {"steps": 1024}, observed=right).reason == ""
    passed, refused = set[str](), set[str]()
    for what, text in with_each_offset_wrong(right):
        if not some or what in some:
            said = kit.run(system, "tasks", 2, {"steps": 1024}, observed=text).reason
            (refused if re.search(r"threads\.txt:\d+: ", said) else passed).add(what)
    assert passed <= set(NEITHER_TEXT_NOR_WRONG)
    assert refused >= {*SHORT_OFFSETS}
