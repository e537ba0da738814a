"""Machines as YAML: the values that are read, and the errors, which name file, line and key."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import insn
from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.system.machines import LONGEST_NS, SLOWEST_GB_S, BareMachine, Cache, Node, Tlb
from benchgate.plan import catalog
from benchgate.plan.machinefile import MOST_SETS, read
from tests.unit.machines import CORES, DUO, FILE, UNEVEN, changed, duo, uneven, with_memory

SHAPE_READER = Path(insn.__file__).parent / "c/memory/memory_shape.c"


def test_every_value_is_read() -> None:
    machine = duo()
    assert (machine.name, machine.source, machine.cpus, machine.line) == ("duo", "invented", 4, 64)
    assert (machine.l1d, machine.l1i) == (Cache(1024, 2, 1), Cache(2048, 4, 1))
    assert (machine.l2, machine.l3) == (Cache(4096, 4, 3), Cache(49152, 12, 11))
    assert machine.clusters == machine.sockets == ((0, 1), (2, 3))
    assert machine.nodes == (Node((0, 1), 75), Node((2, 3), 25))
    assert (machine.memory_local_ns, machine.memory_remote_ns, machine.bandwidth_gb_s) == (50, 85, 32.0)
    transfers = machine.transfer_cluster_ns, machine.transfer_across_ns, machine.transfer_socket_ns
    assert transfers == (20, 20, 90)
    assert (machine.atomic_ns, machine.interrupt_ns, machine.tlb) == (4, 700, Tlb(32, 4, 15))
    assert machine.text == DUO


def test_without_the_optional_keys_there_is_no_such_part() -> None:
    machine = duo(l3="", tlb="", memory="{local_ns: 50, remote_ns: 50}")
    assert (machine.l3, machine.tlb, machine.bandwidth_gb_s, machine.ps_per_line) == (None, None, 0.0, 0)


def test_a_machine_of_one_cpu_needs_no_transfers() -> None:
    text = changed(cpus="1", clusters='["0"]', sockets='["0"]', transfer="", memory="{local_ns: 50}")
    text = text.replace(
        '  - {cpus: "0-1", memory: 75}\n  - {cpus: "2-3", memory: 25}\n', '  - {cpus: "0", memory: 100}\n'
    )
    machine = with_memory(text, FILE)
    assert (machine.transfer_socket_ns, machine.memory_remote_ns) == (3, 50)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"l1d": "{size: 1K, ways: 2, sets: 7}"}, "5: l1d.sets: contradicts `size`: 7 sets of 2 ways of 64"),
        ({"l1i": "{size: 2K, ways: 3}"}, "6: l1i.size: is 2048, not a whole number of sets of 3 ways of 64"),
        ({"l1i": "{size: 2k, ways: 4}"}, "6: l1i.size: is `2k`, not a size such as 32K or 16M"),
        ({"l1d": "{size: 1K, ways: 2, latency_ns: 2}"}, "5: l1d.latency_ns: is 2; a hit in the first level"),
        ({"l2": "{size: 4K, ways: 4}"}, "7: l2.latency_ns: is missing"),
        (
            {"l3": "{size: 48K, ways: 12, latency_ns: 2}"},
            "8: l3.latency_ns: is 2, less than the 3 of the level",
        ),
        ({"line": "48"}, "4: line: is 48, not a power of two"),
        ({"cpus": "65"}, "3: cpus: is 65, not between 1 and 64"),
        ({"cpus": "5"}, "9: clusters: CPU 4 is in none of them"),
        ({"clusters": '["0-1", "3"]'}, "9: clusters: CPU 2 is in none of them"),
        ({"clusters": '["0-1", "1-3"]'}, "9: clusters: CPU 1 is in two of them"),
        ({"clusters": '["0-1", "2-4"]'}, "9: clusters: CPU 4 is named, but there are 4 CPUs, from 0"),
        ({"clusters": '["0,2", "1,3"]'}, "9: clusters: the CPUs of each must be successive"),
        ({"clusters": '["0-1", "x"]'}, "9: clusters: not a list of CPUs: 'x'"),
        ({"clusters": '["0-2", "3"]'}, "9: clusters: CPUs 0 to 2 share a cluster, but are in two sockets"),
        ({"clusters": ""}, "clusters: is missing"),
        (
            {"memory": "{local_ns: 10, remote_ns: 85}"},
            "14: memory.local_ns: is 10, less than the 11 of the last",
        ),
        (
            {"memory": "{local_ns: 50, remote_ns: 49}"},
            "14: memory.remote_ns: is 49, less than `local_ns`: 50",
        ),
        ({"memory": "{local_ns: 50}"}, "14: memory.remote_ns: is missing"),
        ({"memory": "much"}, "14: memory: expected a mapping, or `none` for a machine without"),
        ({"transfer": "{cluster_ns: 20}"}, "15: transfer.socket_ns: is missing"),
        (
            {"transfer": "{cluster_ns: 2, socket_ns: 9}"},
            "15: transfer.cluster_ns: is 2, less than the 3 from",
        ),
        ({"transfer": "{cluster_ns: 20, socket_ns: 19}"}, "15: transfer.socket_ns: is 19, less than the 20"),
        (
            {"tlb": "{entries: 30, ways: 4, walk_ns: 1}"},
            "18: tlb.ways: 30 entries are not a whole number of sets",
        ),
        ({"atomic_ns": "-1"}, "16: atomic_ns: is -1, not between 0 and 1000000"),
        ({"source": ""}, "1: source: is missing"),
        ({"interrupt_ns": "7\nl4: {}"}, "18: l4: unknown key; "),
        ({"atomic_ns": "4\natomic_ns: 5"}, "17: atomic_ns: is duplicated (first on line 16)"),
        ({"name": "Duo-2"}, "1: name: `Duo-2` is not a name"),
        ({"name": "ideal"}, "1: name: `ideal` has another meaning in the name of a cell"),
        ({"name": "smp4"}, "1: name: `smp4` has another meaning"),
        (
            {"l1i": "{size: 8K, ways: 4}"},
            "7: l2: its size is 4096, less than the 8192 of a level that it includes",
        ),
        (
            {"l3": "{size: 512M, ways: 1, latency_ns: 11}"},
            "8: l3.size: is 8388608 sets of 1 ways; at most 4194304 are supported",
        ),
        (
            {"memory": "{local_ns: 50, remote_ns: 85, bandwidth_gb_s: 0.0009}"},
            "14: memory.bandwidth_gb_s: is 0.0009, not 0 (no limit) or at least 0.001",
        ),
        (
            {"transfer": "{cluster_ns: 5, socket_ns: 10}"},
            "15: transfer.socket_ns: is 10, less than the 11 from a nearer CPU or cache",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_with_file_line_and_key(
    lines: dict[str, str], message: str
) -> None:
    with pytest.raises(
        CatalogError, match=re.escape(f"duo.yaml:{message}") if message[0].isdigit() else message
    ):
        read(changed(**lines), FILE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("memory: 25", "memory: 26", "11: nodes: the shares of memory add up to 101, not to 100 percent"),
        ("memory: 25", "memory: 0", "13: nodes.1.memory: is 0, not between 1 and 100"),
        ('{cpus: "2-3", ', '{cpus: "3", ', "11: nodes: CPU 2 is in none of them"),
        ('{cpus: "2-3", ', "{", "13: nodes.1.cpus: is missing"),
    ],
)
def test_nodes_must_hold_every_cpu_and_all_memory(old: str, new: str, message: str) -> None:
    with pytest.raises(CatalogError, match=re.escape(f"duo.yaml:{message}")):
        read(DUO.replace(old, new), FILE)


def test_all_problems_of_a_file_are_told_at_once() -> None:
    with pytest.raises(CatalogError) as caught:
        read(changed(line="48", atomic_ns="x", l2="{size: 4K, ways: 4}"), FILE)
    assert str(caught.value).startswith("duo.yaml: 3 problems:")


def test_the_digest_is_of_the_meaning() -> None:
    named = with_memory("# another comment\n" + changed(name="other", source="elsewhere"), FILE)
    assert named.digest == duo().digest
    assert duo(atomic_ns="5").digest != duo().digest


def test_the_ideal_machine_has_no_memory_system() -> None:
    assert catalog.load_machine("ideal") is None
    assert read("name: mine\nsource: none\nmemory: none\n", FILE) is None


@pytest.mark.parametrize(
    ("name", "cpus", "sockets", "nodes"),
    [
        ("desktop8", 8, 1, 1),
        ("biglittle8mem", 8, 1, 1),
        ("server2x16", 32, 2, 2),
        ("server4x8", 32, 4, 4),
        ("manycore64", 64, 1, 4),
    ],
)
def test_the_shipped_machines_are_what_their_names_say(
    name: str, cpus: int, sockets: int, nodes: int
) -> None:
    machine = catalog.memory_machine(name)
    assert machine is not None
    assert (machine.name, machine.cpus, len(machine.sockets), len(machine.nodes)) == (
        name,
        cpus,
        sockets,
        nodes,
    )


def test_each_shipped_machine_says_where_its_figures_come_from() -> None:
    for name in catalog.names("machine"):
        machine = catalog.load_machine(name)
        if machine is None or machine.source.startswith("by definition"):
            continue
        if machine.capacities:
            assert "arch/arm64/boot/dts/" in machine.text, name
        if isinstance(machine, BareMachine):
            continue
        assert re.search(r"github\.com/|AnandTech|AMD|Intel|rk3588-base", machine.text), name
        assert "Assumption" in machine.text, name


def test_the_order_of_accesses_is_watched_or_strict() -> None:
    assert not duo().strict
    assert not duo(order="").strict
    assert duo(order="strict").strict
    assert duo(order="strict").digest != duo().digest
    with pytest.raises(CatalogError, match="order: is `loose`, not one of watch, strict"):
        duo(order="loose")


def test_the_machine_ordered_costs_nothing() -> None:
    ordered = catalog.memory_machine("ordered")
    assert ordered is not None
    latencies = (ordered.l2.latency_ns, ordered.memory_local_ns, ordered.transfer_cluster_ns)
    assert latencies == (1, 1, 1)
    assert (ordered.l3, ordered.tlb) == (None, None)
    assert (ordered.atomic_ns, ordered.interrupt_ns, ordered.bandwidth_gb_s) == (0, 0, 0)


def test_a_wrong_cpu_list_is_the_only_problem_that_is_told() -> None:
    """Which transfers there are depends on it, so none of them is called missing."""
    with pytest.raises(CatalogError) as caught:
        read(changed(clusters='["0-1", "x"]', transfer="{cluster_ns: 20}"), FILE)
    assert str(caught.value).startswith("duo.yaml:9: clusters: not a list of CPUs: 'x'")
    assert "transfer" not in str(caught.value)


@pytest.mark.parametrize(("constant", "value"), [("MOST_SETS", MOST_SETS), ("MOST_NS", LONGEST_NS)])
def test_the_clock_has_the_same_limits(constant: str, value: int) -> None:
    """What a file may say, the C takes: else only QEMU would refuse it."""
    (result,) = re.findall(rf"^#define {constant} (\d+)", SHAPE_READER.read_text(), re.MULTILINE)
    assert int(result) == value


def test_the_slowest_memory_is_one_that_the_clock_takes() -> None:
    (most,) = re.findall(r"^#define MOST_PS (\d+)", SHAPE_READER.read_text(), re.MULTILINE)
    slow = duo(memory=f"{{local_ns: 50, remote_ns: 85, bandwidth_gb_s: {SLOWEST_GB_S}}}")
    slowest = replace(slow, line=256)
    assert 0 < slowest.ps_per_line <= int(most)


DIGEST_OF_SERVER2X16 = "9b9d38f0d806"
"""As reports showed it before a machine could have `distances`."""


def with_distances(*rows: str) -> str:
    return f"{DUO}distances: {list(rows)}\n".replace("'", '"')


def test_distances_are_read_and_are_part_of_the_meaning() -> None:
    machine = with_memory(with_distances("10 30", "30 10"), FILE)
    assert (duo().distances, machine.distances) == ((), ((10, 30), (30, 10)))
    assert machine.digest != duo().digest


def test_machines_without_distances_keep_their_digests() -> None:
    machine = catalog.memory_machine("server2x16")
    assert machine is not None
    assert machine.digest.startswith(DIGEST_OF_SERVER2X16)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("10 30",), "expected 2 rows of 2 whole numbers, one for each node"),
        (("10 30", "30"), "expected 2 rows of 2 whole numbers"),
        (("10 30", "30 x"), "expected 2 rows of 2 whole numbers"),
        (("10 1000", "1000 10"), "expected 2 rows of 2 whole numbers"),
        (("11 30", "30 10"), "node 0 is 11 from itself, not 10"),
        (("10 10", "10 10"), "node 1 is 10 from node 0, not 11 to 254"),
        (("10 255", "255 10"), "node 1 is 255 from node 0, not 11 to 254"),
        (("10 30", "31 10"), "nodes 0 and 1 are 30 apart, and 31 the other way"),
    ],
)
def test_distances_that_no_machine_has_are_refused(rows: tuple[str, ...], message: str) -> None:
    with pytest.raises(CatalogError, match=re.escape(f"distances: {message}")):
        read(with_distances(*rows), FILE)


# ---- CPUs of different speed


def test_the_capacity_of_each_cpu_is_read() -> None:
    machine = uneven()
    assert (machine.name, machine.source, machine.cpus) == ("uneven", "invented", 4)
    assert machine.capacities == (1024, 512, 1024, 300)
    assert machine.text == UNEVEN


def test_capacities_are_the_meaning_of_the_file_and_its_words_are_not() -> None:
    same = uneven(UNEVEN.replace("name: uneven", "name: other").replace("source: invented", "source: x"))
    assert same.digest == uneven().digest
    assert uneven(UNEVEN.replace("300", "301")).digest != uneven().digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1024", "1023", "4: cores: CPU 0 has capacity 1023, not 1024: it is the base of speedups"),
        ("capacity: 300", "capacity: 0", "7: cores.2.capacity: is 0, not between 1 and 1024"),
        ("capacity: 300", "capacity: 1025", "7: cores.2.capacity: is 1025, not between 1 and 1024"),
        ('"3", capacity', '"2-3", capacity', "4: cores: CPU 2 is in two of them"),
        ('"3", capacity', '"4", capacity', "4: cores: CPU 3 is in none of them"),
        ('"0,2", capacity', '"2", capacity', "4: cores: CPU 0 is in none of them"),
        ('"3", capacity', '"3-64", capacity', "4: cores: CPU 64 is named; at most 64 CPUs are supported"),
        ('"3", capacity', '"x", capacity', "7: cores.2.cpus: not a list of CPUs: 'x'"),
        ("capacity: 300", "speed: 300", "7: cores.2.capacity: is missing"),
        ("name: uneven", "name: ideal", "1: name: `ideal` has another meaning"),
        ("memory: none", "memory: none\ncpus: 4", "4: cpus: unknown key"),
    ],
)
def test_cores_that_cannot_be_are_refused_with_file_line_and_key(old: str, new: str, message: str) -> None:
    assert UNEVEN.count(old) == 1
    with pytest.raises(CatalogError, match=re.escape(f"uneven.yaml:{message}")):
        uneven(UNEVEN.replace(old, new))


def test_a_list_of_no_cores_is_refused() -> None:
    with pytest.raises(CatalogError, match="4: cores: CPU 0 is in none of them"):
        uneven(UNEVEN[: UNEVEN.index("cores:")] + "cores: []\n")


def test_a_machine_with_memory_may_have_cpus_of_different_speed() -> None:
    plain, both = duo(), with_memory(DUO + CORES, FILE)
    assert (plain.capacities, both.capacities) == ((), (1024, 512, 1024, 300))
    assert both.digest != plain.digest
    assert with_memory(DUO + CORES.replace("300", "301"), FILE).digest != both.digest
    assert replace(both, capacities=(), text="", digest="") == replace(plain, text="", digest="")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"3", capacity', '"3-4", capacity', "cores: CPU 4 is named, but there are 4 CPUs, from 0"),
        ('"0,2", capacity', '"0", capacity', "cores: CPU 2 is in none of them"),
        ("1024}", "1023}", "cores: CPU 0 has capacity 1023, not 1024"),
    ],
)
def test_the_cores_are_the_cpus_of_the_memory_system(old: str, new: str, message: str) -> None:
    assert CORES.count(old) == 1
    with pytest.raises(CatalogError, match=re.escape(f"duo.yaml:20: {message}")):
        read(DUO + CORES.replace(old, new), FILE)


def test_machines_from_before_cores_beside_memory_keep_their_digests() -> None:
    """As sessions of 2026-11-28 have recorded them."""
    digests = {name: catalog.load_machine(name) for name in ("desktop8", "biglittle8")}
    assert {name: machine.digest[:16] for name, machine in digests.items() if machine} == {
        "desktop8": "8e77e6d46de5685e",
        "biglittle8": "5fa3a6aff85925ea",
    }


def test_a_memory_system_that_is_asked_for_must_be_there() -> None:
    with pytest.raises(UsageError, match="machine biglittle8 has no memory system"):
        catalog.memory_machine("biglittle8")


def test_the_capacities_of_biglittle8_are_those_of_its_source() -> None:
    """The small cores: 592 of 1024 at 1844 MHz of 2362 MHz; half of any even number of CPUs is small."""
    machine = catalog.load_machine("biglittle8")
    assert isinstance(machine, BareMachine)
    assert machine.capacities == (1024, 592 * 1844 // 2362) * 4


def test_the_capacities_of_biglittle8mem_are_those_of_its_source() -> None:
    """The small cores: 530 of 1024 at 1800 MHz of 2400 MHz."""
    machine = catalog.memory_machine("biglittle8mem")
    assert machine is not None
    assert machine.capacities == (1024, 530 * 1800 // 2400) * 4
