"""What an old QEMU gets wrong is kept from guests, and from those of that QEMU only."""

from __future__ import annotations

import pytest

from benchgate.host.quirks import cpu_words
from benchgate.model import Accel

OLD, NEW = (7, 2, 22), (8, 0, 0)


@pytest.mark.parametrize(
    ("model", "accel", "version", "said"),
    [
        ("max", Accel.TCG, OLD, "max,-cx16"),
        ("", Accel.TCG, OLD, "qemu64,-cx16"),
        ("max", Accel.TCG, NEW, "max"),
        ("", Accel.TCG, NEW, ""),
        ("host", Accel.KVM, OLD, "host"),
        ("max,+cx16", Accel.TCG, OLD, "max,+cx16"),
    ],
)
def test_a_guest_is_not_told_of_an_instruction_that_its_qemu_gets_wrong(
    model: str, accel: Accel, version: tuple[int, int, int], said: str
) -> None:
    assert cpu_words(model, accel, version) == said
