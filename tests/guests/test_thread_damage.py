"""An `observe:` with a mistake: no books come of it, but a refusal, or a sentence that names the event which
contradicts others. Each case is one that somebody could write for a kernel of his own. Without a mistake
there are books (test_thread_witness.py). tests/unit/judge/accounts/threads has contradictions without guests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.observe import Formula, HookKind, ObserveDefinition, formula
from benchgate.insn.arguments import Records
from benchgate.insn.observe.resolve import observe_file
from benchgate.insn.symbols import linux_symbols
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.accounting import thread_books
from benchgate.judge.accounts.threads.books import ThreadBooks
from benchgate.plan import catalog
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
        replace(one, at=mistake.at or one.at, values={**one.values, **values})
        if one.kind is mistake.hook
        else one
        for one in whole.hooks
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
