"""The attribution table: the guest's counts, and None (not 0) for a bucket that it does not have."""

from __future__ import annotations

from benchgate.insn.symbols import sorted_symbols
from benchgate.judge import wire
from benchgate.judge.accounts import attribution
from benchgate.judge.accounts.attribution import Lock, Table, Thread
from benchgate.render.tables import attribution as rendered
from tests.wirekit import NONCE, console, recorded, unframed

GOOD = recorded("good-linux-primes-smp2")
SYMBOLS = sorted_symbols([(0x401000, 16, "first"), (0x401010, 16, "second")])


def table(*measures: str) -> Table:
    lines = [line for line in unframed(GOOD) if not line.startswith(("measure", "balance"))]
    said = wire.parse(console(*lines, *(f"measure {measure}" for measure in measures)), nonce=NONCE)
    return attribution.table("primes-own-smp2", said, SYMBOLS)


def test_a_bucket_that_is_not_counted_is_none() -> None:
    empty = table()
    assert tuple(empty.buckets) == attribution.BUCKETS
    assert all(empty.value(name, phase) is None for name in empty.buckets for phase in attribution.PHASES)
    assert empty.by_cpu["busy_time"] == (None, None)


def test_buckets_are_summed_over_cpus_and_maxima_are_not() -> None:
    seen = table(
        "phase=work cpu=0 name=ticks value=3",
        "phase=work cpu=1 name=ticks value=4",
        "phase=final_total cpu=0 name=ticks value=5",
        "phase=final_total cpu=1 name=ticks value=6",
        "phase=work cpu=0 name=queue_depth_max value=3",
        "phase=work cpu=1 name=queue_depth_max value=2",
        "phase=work cpu=0 name=idle_cycles value=0",
    )
    assert (seen.value("ticks", "work"), seen.value("ticks")) == (7, 11)
    assert seen.value("ticks", "shutdown") is None
    assert seen.by_cpu["ticks"] == (5, 6)
    assert seen.value("queue_depth_max", "work") == 3
    assert seen.value("idle_time", "work") == 0  # counted, and none: that is a 0


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    seen = table("phase=work cpu=0 name=picks value=3", "phase=work cpu=1 name=picks value=na")
    assert seen.value("picks", "work") is None
    assert table("phase=work cpu=na name=network_polls value=na").value("network_polls", "work") is None


def test_times_have_the_same_name_in_every_unit() -> None:
    assert table("phase=work cpu=0 name=busy_cycles value=9").value("busy_time", "work") == 9
    assert table("phase=work cpu=0 name=busy_ns value=9").value("busy_time", "work") == 9


def test_buckets_that_only_this_system_has_come_last() -> None:
    assert tuple(table("phase=work cpu=0 name=own_thing value=1").buckets)[-1] == "own_thing"


def test_locks_threads_and_samples_have_their_own_tables() -> None:
    seen = table(
        "phase=work cpu=na name=lock_queue_takes value=10",
        "phase=work cpu=na name=lock_queue_wait_cycles value=20",
        "phase=final_total cpu=1 name=thread_0_running value=5",
        "phase=final_total cpu=1 name=thread_0_lifetime value=7",
        "phase=final_total cpu=0 name=sample_pc value=0x0000000000401004",
        "phase=final_total cpu=0 name=sample_pc value=0x0000000000401011",
        "phase=final_total cpu=1 name=sample_pc value=0x0000000000401018",
        "phase=final_total cpu=1 name=sample_pc value=0x0000000000999999",
    )
    assert tuple(seen.buckets) == attribution.BUCKETS
    assert seen.locks["queue"]["work"] == Lock(10, 20, None)
    assert seen.threads == (Thread(0, 1, 5, None, None, 7),)
    assert seen.samples == {"second": 2, "first": 1, attribution.UNKNOWN: 1}


# ---- rendered


def test_the_markdown_says_na_and_not_0() -> None:
    text = rendered.markdown([table("phase=work cpu=0 name=ticks value=1234")])
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}
    assert rows["ticks"] == "| ticks | na | 1,234 | na | na |"
    assert rows["network_polls"] == "| network_polls | na | na | na | na |"


def test_the_markdown_without_a_run_says_so() -> None:
    assert "nothing to attribute" in rendered.markdown([])


def test_threads_that_are_not_shown_are_counted() -> None:
    many = [f"phase=final_total cpu=0 name=thread_{n}_running value=1" for n in range(40)]
    text = rendered.markdown([table(*many)])
    assert "Threads (40, 8 not shown):" in text


def test_the_terminal_puts_runs_side_by_side_and_wraps_them() -> None:
    one = table("phase=final_total cpu=0 name=ticks value=7")
    other = table("phase=final_total cpu=0 name=picks value=8")
    wide = rendered.terminal([one, other], 100).splitlines()
    assert wide[0] == "attribution of primes-own, in ns"
    assert wide[1].split() == ["bucket", "smp2", "smp2"]
    assert [line.split() for line in wide if line.startswith(("ticks", "picks"))] == [
        ["picks", "na", "8"],
        ["ticks", "7", "na"],
    ]
    narrow = rendered.terminal([one, other], 40).splitlines()
    assert sum(line.count("smp2") for line in narrow) == 2
    assert max(map(len, narrow)) <= 40
