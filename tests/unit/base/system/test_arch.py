"""The table of architectures agrees with this host's programs and with the lock files."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path

import pytest

from benchgate.base.system import arch
from benchgate.base.system.arch import ARCHITECTURES, X86_64, Architecture
from benchgate.build.fetch import pins, store

EVERY = pytest.mark.parametrize("guest", ARCHITECTURES.values(), ids=str)


def test_python_itself_is_of_this_hosts_architecture() -> None:
    head = Path(sys.executable).read_bytes()[:20]
    machine = int.from_bytes(head[18:20], "little")
    (own,) = (architecture for architecture in ARCHITECTURES.values() if architecture.elf_machine == machine)
    assert own.is_host


@pytest.mark.parametrize("guest", ARCHITECTURES.values(), ids=str)
def test_an_architecture_from_another_process_is_the_same_object(guest: Architecture) -> None:
    assert pickle.loads(pickle.dumps(guest)) is guest


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(ValueError, match="`mips` is not an architecture; choose one of x86_64, riscv64"):
        arch.named("mips")


@EVERY
def test_qemu_and_linux_were_reviewed_for_each_release(guest: Architecture) -> None:
    qemu, linux = (pins.read(store.lock_path(guest.kind(word))) for word in ("qemu", "linux"))
    assert (
        {pinned_set.release for pinned_set in qemu} == {pinned_set.release for pinned_set in linux} != set()
    )
    for pinned_set in qemu:
        names = [pin.package.name for pin in pinned_set.pins]
        assert names[: len(guest.qemu_packages)] == list(guest.qemu_packages)
    for pinned_set in linux:
        assert re.fullmatch(rf"linux-image-[0-9].*-{guest.debian}", pinned_set.pins[0].package.name)


@EVERY
def test_a_compiler_was_reviewed_for_each_architecture_but_the_hosts(guest: Architecture) -> None:
    path = store.lock_path(guest.kind("compiler"))
    if guest is X86_64:
        assert not path.exists()
        return
    for pinned_set in pins.read(path):
        names = [pin.package.name for pin in pinned_set.pins]
        assert re.fullmatch(rf"gcc-\d+-{guest.triple}", names[0])
        assert f"libc6-dev-{guest.debian}-cross" in names
