"""contrib.nested_kvm.boot: both command lines, and what it reads of a console. Nothing is booted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import BootError
from benchgate.base.system.qemu import CONTROLLED, ON_STDIO, Qemu
from benchgate.build.fetch import inputs
from contrib.nested_kvm import boot as nested_boot
from contrib.nested_kvm.boot import SETTINGS, USED, NestedGuest

QEMU = Qemu(Path("/q"), {}, (), (10, 0, 2), "d")
GUEST = NestedGuest(("qemu", "-cpu", "host", "-machine", "q35"), "n")
CONSOLE = """\
benchready
nested: begin us=4000
tern: cpus=2

nested: end us=254000 status=33
nested: exits reason=400 count=559
nested: exits reason=7b count=2317
benchexit status=0"""


def test_a_console_gives_exits_and_the_time_of_each_boot() -> None:
    run = nested_boot.run_of(CONSOLE, 1, (2.5,), 7.0)
    assert run.exits == {0x400: 559, 0x7B: 2317}
    assert run.outer_ms == [250.0]
    assert nested_boot._named(run) == "io 2,317, npf 559"


@pytest.mark.parametrize(
    ("change", "times", "words"),
    [
        (("status=33", "status=35"), 1, "ended with 35"),
        (("nested: end", "x"), 1, "nothing"),
        (("", ""), 2, "33"),
    ],
)
def test_a_guest_that_did_not_end_as_it_should_gives_no_figure(
    change: tuple[str, str], times: int, words: str
) -> None:
    with pytest.raises(BootError, match=words):
        nested_boot.run_of(CONSOLE.replace(*change) if change[0] else CONSOLE, times, (2.5,), 7.0)


def test_a_setting_changes_one_thing() -> None:
    for name, setting in SETTINGS.items():
        changed = [key for key in USED.__slots__ if getattr(setting, key) != getattr(USED, key)]
        assert len(changed) == (0 if name == "used" else 2 if "migratable" in name else 1), name


def test_the_outer_machine_has_the_parameters_of_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        image = Path("/vmlinuz")

    monkeypatch.setattr(inputs, "linux_kernel", Kernel)
    words = nested_boot.outer_argv(QEMU, SETTINGS["kvm-amd npt=0"], Path("/i"), times=3, counts=True)
    told = words[words.index("-append") + 1].split()
    assert {"nested.kvm-amd=pause_filter_count=0,npt=0", "nested.times=3", "nested.count=1"} <= set(told)
    assert "+svm" in words[words.index("-cpu") + 1]
    assert "-icount" in words


def test_the_guest_starts_at_once() -> None:
    held = ("qemu", *CONTROLLED, "-kernel", "k")
    assert nested_boot._at_once(held) == ("qemu", *ON_STDIO, "-kernel", "k")
    changed = nested_boot._with_inner(GUEST.argv, SETTINGS["inner -machine q35,sata=off,smbus=off"])
    assert changed == ("qemu", "-cpu", "host", "-machine", "q35,sata=off,smbus=off")
