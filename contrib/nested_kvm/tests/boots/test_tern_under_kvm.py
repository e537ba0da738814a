"""tern under a real KVM: Debian's module kvm-amd, in a machine that TCG emulates (../../boot.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.build.fetch import inputs
from benchgate.judge import wire
from contrib.nested_kvm import boot as nested_boot

HI = 300_000
NESTED_PAGE_FAULT, PORT = 0x400, 0x7B
"""Reasons for which a guest leaves (AMD64 Architecture Programmer's Manual, volume 2, appendix C)."""


def primes_up_to(last: int) -> list[int]:
    sieve = bytearray([1]) * (last + 1)
    for n in range(2, int(last**0.5) + 1):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(sieve[n * n :: n]))
    return [n for n in range(2, last + 1) if sieve[n]]


def test_tern_computes_under_a_real_kvm(tmp_path: Path) -> None:
    """The command line is that of lane kvm. Where KVM did not run the guest, nobody left it."""
    if "kvm-amd" not in nested_boot.kvm_modules():
        pytest.skip("the package of this release's kernel has no module kvm-amd")
    qemu = inputs.qemu()
    guest = nested_boot.inner_guest(qemu, "kernel", "primes", 2, {"hi": HI})
    assert guest.argv[guest.argv.index("-accel") + 1] == "kvm"
    run = nested_boot.boot(qemu, guest, tmp_path, counts=True)
    said = run.console.partition("nested: begin ")[2].partition("\n")[2].partition("\nnested: end")[0]
    transcript = wire.parse(said.encode(), nonce=guest.nonce)
    expected = primes_up_to(HI + 1)
    assert [transcript.result[key] for key in ("count", "sum")] == [len(expected), sum(expected)]
    # CPU 0 may have computed both shares, if this host was busy when it was the other CPU's turn.
    assert transcript.online == len(transcript.reports) == 2
    assert run.exits.get(NESTED_PAGE_FAULT, 0) > 0
    assert run.exits.get(PORT, 0) > len(said)
