"""`observe` of a system's YAML: what is read, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.system.observe import HookKind, SystemCall, formula
from benchgate.base.system.systems import System
from benchgate.plan import catalog, systemfile

MINE = """\
version: 1
name: mine
kind: qemu
boot:
  kernel: mine.elf
observe:
  thread:
    type: task
    id: thread->pid
  switch:
    at: switch_to
    from: arg0
    to: arg1
    blocked: from->state
  wake:
    at: [wake_up, "wake_late?"]
    thread: arg0
    cpu: [arg0->gone, arg0->cpu]
    only: blocked
"""


def load(folder: Path, text: str = MINE) -> System:
    file = folder / "mine.yaml"
    file.write_text(text)
    return systemfile.load(file)


def test_hooks_and_their_expressions(tmp_path: Path) -> None:
    definition = load(tmp_path).observe
    assert definition is not None
    assert (definition.type, definition.name_bytes, definition.text) == ("task", 16, ("", ""))
    assert definition.values == {"id": (formula("thread->pid"),)}
    switch, wake = definition.hooks
    assert (switch.kind, switch.at, wake.kind, wake.at) == (
        *(HookKind.SWITCH, ("switch_to",)),
        *(HookKind.WAKE, ("wake_up", "wake_late?")),
    )
    assert wake.values["cpu"] == (formula("arg0->gone"), formula("arg0->cpu"))
    assert "queue" not in wake.values
    assert (switch.only_blocked, wake.only_blocked) == (False, True)


def test_a_system_without_it_and_those_that_ship(tmp_path: Path) -> None:
    assert load(tmp_path, MINE[: MINE.index("observe:")]).observe is None
    for name in ("linux", "kernel"):
        definition = catalog.load_system(name).observe
        assert definition is not None
        assert {hook.kind for hook in definition.hooks} >= {
            HookKind.FORK,
            HookKind.SWITCH,
            HookKind.WAKE,
            HookKind.EXIT,
        }


COUNTS = """\
observe:
  calls: {exit: 2, write: {number: 16, length: 2}}
  fault: {at: vmfault}
  events:
    moved: {at: [copy, "paste?"], when: arg1, adds: arg2}
"""


def test_what_is_only_counted_needs_no_threads(tmp_path: Path) -> None:
    definition = load(tmp_path, MINE[: MINE.index("observe:")] + COUNTS).observe
    assert definition is not None
    assert (definition.sees_threads, definition.type, definition.values) == (False, "", {})
    assert definition.calls == {"exit": SystemCall(2), "write": SystemCall(16, 2)}
    assert definition.lengths == {16: 2}
    fault, moved = definition.hooks
    assert (fault.kind, fault.at) == (HookKind.FAULT, ("vmfault",))
    assert (moved.kind, moved.name, moved.at) == (HookKind.EVENT, "moved", ("copy", "paste?"))
    assert moved.values == {"when": (formula("arg1"),), "adds": (formula("arg2"),)}


def test_linux_has_its_calls_on_each_architecture() -> None:
    """The numbers are those of the kernel's manual pages (syscalls(2), syscall(2))."""
    for name, write, futex, lacks in (
        ("linux", 1, 202, ""),
        ("linux:arch=riscv64", 64, 98, "open"),
        ("linux:arch=aarch64", 64, 98, "fork"),
    ):
        definition = catalog.load_system(name).observe
        assert definition is not None
        assert definition.calls["write"] == SystemCall(write, 2)
        assert definition.calls["futex"] == SystemCall(futex)
        assert not lacks or lacks not in definition.calls
        assert len({call.number for call in definition.calls.values()}) == len(definition.calls) > 300


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("exit: 2", "exit: 1023", "observe.calls.exit: is 1023, not between 0 and 1022"),
        ("exit: 2", "Exit: 2", "observe.calls.Exit: is not a name"),
        ("length: 2", "length: 3", "observe.calls.write.length: is 3, not between 0 and 2"),
        ("{exit: 2, write: {number: 16, length: 2}}", "bsd", "observe.calls: is `bsd`, not one of linux"),
        ("moved: {", "Moved: {", "observe.events.Moved: is not a name"),
        ("adds: arg2", "adds: arg2 +", "observe.events.moved.adds: `arg2 +` has its end"),
        ("adds: arg2", "add: arg2", "observe.events.moved.add: unknown key"),
        ("fault: {at: vmfault}", "fault: {at: []}", "observe.fault.at: expected 1 to 12 symbols"),
        ("  fault:", "  exit: {at: leave}\n  fault:", "observe.switch: is missing"),
    ],
)
def test_what_is_refused_of_counts(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in COUNTS
    with pytest.raises(CatalogError) as caught:
        load(tmp_path, MINE[: MINE.index("observe:")] + COUNTS.replace(old, new, 1))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    id: thread->pid\n", "", "observe.thread.id: is missing"),
        ("thread->pid", "thread->", "9: observe.thread.id: `thread->` has its end"),
        ("    blocked: from->state\n", "", "observe.switch.blocked: is missing"),
        ("only: blocked", "only: new", "observe.wake.only"),
        ("    at: switch_to\n", "    at: switch_to\n    only: blocked\n", "observe.switch.only: unknown key"),
        ("  wake:\n", "  woke:\n", "observe.wake: is missing"),
        ("at: switch_to", "at: []", "observe.switch.at: expected 1 to 12 symbols"),
        ("at: switch_to", "on: switch_to", "observe.switch.on: unknown key"),
        ("  thread:\n", "  text: [begin]\n  thread:\n", "observe.text: expected two symbols"),
        ("type: task", "type: task\n    name_bytes: 64", "not between 1 and 32"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in MINE
    with pytest.raises(CatalogError) as caught:
        load(tmp_path, MINE.replace(old, new, 1))
    assert said in str(caught.value)
