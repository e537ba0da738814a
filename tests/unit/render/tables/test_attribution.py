"""The terminal's table of --measure has what was counted, and names the rest once."""

from __future__ import annotations

from benchgate.judge.accounts.attribution import WHOLE, Table
from benchgate.render.tables import attribution


def table(cell: str, **values: int | None) -> Table:
    return Table(cell, "ns", 2, {name: {WHOLE: value} for name, value in values.items()}, {}, {}, (), {})


def test_zeros_share_a_line_and_the_runs_of_a_row_share_a_table() -> None:
    first = table("primes-linux-smp1", idle=0, user=1000, faults=0, waits=None)
    second = table("primes-linux-smp2", idle=20, user=2000, faults=0, waits=None)
    assert attribution.terminal([first, second], 80).splitlines() == [
        "attribution of primes-linux, in ns",
        "bucket   smp1   smp2",
        "idle        0     20",
        "user    1,000  2,000",
        "0 in each: faults",
    ]


def test_another_row_is_another_table_and_what_does_not_fit_goes_below() -> None:
    many = [table(f"primes-linux-smp{cpus}", user=10**9 * cpus) for cpus in (1, 2, 4, 8)]
    text = attribution.terminal([*many, table("checksum-linux-smp1", idle=3)], 40)
    assert text.count("bucket") == 3
    assert max(map(len, text.splitlines())) <= 40
    assert "attribution of checksum-linux, in ns\nbucket  smp1\nidle       3" in text
