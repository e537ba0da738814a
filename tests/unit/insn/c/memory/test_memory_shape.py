"""memory_shape.c reads what benchgate writes, and refuses everything else with what is wrong and where."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.memorykit import load
from tests.unit.insn.c.memory_steps import machine

GOOD = machine("0011", sockets="0011").text()
LINES = GOOD.splitlines()
"""Line 1 is `benchgate-machine 1`; 9 to 12 are the CPUs, 13 and 14 the memory."""

ONE = "a hit is part of its instruction, so the latency must be 1, not "
NO_NUMBER = "does not begin with a decimal number of up to 18 digits"
LONG = "the line is longer than 510 bytes, holds a NUL byte or does not end"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("memory"))


def read(model: ctypes.CDLL, folder: Path, text: str | bytes) -> str:
    """The problem; empty if there is none."""
    path, problem = folder / "shape", ctypes.create_string_buffer(500)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    memory = ctypes.c_void_p(model.replay_new(str(path).encode(), problem, len(problem)))
    if memory:
        model.memory_free(memory)
    return problem.value.decode(errors="replace")


def test_a_good_file_is_read(model: ctypes.CDLL, tmp_path: Path) -> None:
    assert read(model, tmp_path, GOOD) == ""
    assert read(model, tmp_path, GOOD.replace("order watch", "order strict")) == ""
    assert (
        read(model, tmp_path, GOOD.replace("l3 0 0 0", "l3 12288 11 12").replace("tlb 0 0 0", "tlb 64 4 20"))
        == ""
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("benchgate-machine 1", "benchgate-machine 2", "line 1: benchgate-machine: 2 is not from 1 to 1"),
        ("name fuzz", "name Fuzz", "line 2: name: `Fuzz` is not 1 to 63 of a-z 0-9 _ . -"),
        ("cpus 4", "cpus 0", "line 3: cpus: 0 is not from 1 to 256"),
        ("cpus 4", "cpus 257", "line 3: cpus: 257 is not from 1 to 256"),
        ("cpus 4", "cpus -1", f"line 3: cpus: `-1` {NO_NUMBER}"),
        ("cpus 4", "cpus", f"line 3: cpus: `` {NO_NUMBER}"),
        ("cpus 4", "cpus 4 4", "line 3: cpus: there is more than expected: `4`"),
        ("cpus 4", "cpus 3", "line 12: expected `memory`, found `cpu`"),
        ("cpus 4", "cpus 5", "line 13: expected `cpu`, found `memory`"),
        ("line 64", "line 96", "line 4: line: 96 is not a power of two"),
        ("line 64", "line 8192", "line 4: line: 8192 is not from 16 to 4096"),
        ("l1d 16 4 1", "l1i 16 4 1", "line 5: expected `l1d`, found `l1i`"),
        ("l1d 16 4 1", "l1d 16 4 2", f"line 5: l1d: {ONE}2"),
        ("l1d 16 4 1", "l1d 0 4 1", "line 5: l1d: 0 is not from 1 to 4194304"),
        ("l1i 16 4 1", "l1i 16 4 3", f"line 6: l1i: {ONE}3"),
        ("l2 64 8 5", "l2 64 8", f"line 7: l2: `` {NO_NUMBER}"),
        ("l3 0 0 0", "l3 64 8 0", "line 8: l3: sets, ways and latency are all 0, or none of them is"),
        ("l3 0 0 0", "l3 64 8 4", "line 8: l3: 4 is less than the latency of l2, which is nearer (5)"),
        ("cpu 1 0 0 0", "cpu 2 0 0 0", "line 10: cpu: expected CPU 1, found 2"),
        ("cpu 1 0 0 0", "cpu 1 0 1 0", "line 10: cpu: cluster 0 is in two sockets, 0 and 1"),
        ("cpu 3 1 1 1", "cpu 3 1 1 64", "line 12: cpu: 64 is not from 0 to 63"),
        (
            "memory 0 ",
            "memory 32 ",
            "line 13: memory: the range does not begin and end with a line of 64 bytes",
        ),
        (
            "memory 536870912 ",
            "memory 536870848 ",
            "line 14: memory: the range begins before the one above it ends",
        ),
        (
            "memory 0 ",
            "memory 999999999999999999 ",
            "line 13: memory: 999999999999999999 is not from 0 to 281474976710656",
        ),
        ("memory 0 ", "memory 1e3 ", f"line 13: memory: `1e3 536870912 0` {NO_NUMBER}"),
        (
            "local_ns 80",
            "local_ns 4",
            "line 15: local_ns: 4 is less than the latency of l2, which is nearer (5)",
        ),
        (
            "remote_ns 140",
            "remote_ns 79",
            "line 16: remote_ns: 79 is less than the latency of local_ns, which is nearer (80)",
        ),
        ("remote_ns 140", "remote_ns 99999999", "line 16: remote_ns: 99999999 is not from 1 to 1000000"),
        (
            "across_ns 61",
            "across_ns 19",
            "line 18: transfer_across_ns: 19 is less than the latency of "
            "transfer_cluster_ns, which is nearer (20)",
        ),
        ("tlb 0 0 0", "tlb 64 5 20", "line 23: tlb: 64 entries are not a multiple of 5 ways"),
        ("tlb 0 0 0", "tlb 0 0 20", "line 23: tlb: 20 is not from 0 to 0"),
        ("order watch", "order loose", "line 24: order: `loose` is neither watch nor strict"),
        ("order watch\n", "", "line 24: expected `order`, found `end`"),
        ("end\n", "", "line 25: the file ends here, without its last line `end`"),
        ("end\n", "end", f"line 25: {LONG}"),
        ("end\n", "end \n", "line 25: the line ends with a space"),
        ("end\n", "end\nend\n", "line 25: there is more after `end`"),
        ("bandwidth 0\n", "bandwidth 0\nbandwidth 0\n", "line 23: expected `tlb`, found `bandwidth`"),
        ("name fuzz", "name " + 600 * "a", f"line 2: {LONG}"),
        ("name fuzz", "na\0me fuzz", f"line 2: {LONG}"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_key(
    model: ctypes.CDLL, tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert GOOD.count(old) == 1
    assert read(model, tmp_path, GOOD.replace(old, new)) == problem


def test_every_line_is_needed(model: ctypes.CDLL, tmp_path: Path) -> None:
    """But for a second range of memory."""
    for n, line in enumerate(LINES, start=1):
        text = "".join(f"{other}\n" for other in LINES if other != line)
        problem = read(model, tmp_path, text)
        assert line.startswith("memory ") or problem.startswith(f"line {n}: "), line


def test_a_changed_byte_is_another_number_or_name_or_is_refused(model: ctypes.CDLL, tmp_path: Path) -> None:
    raw = GOOD.encode()
    for at in range(len(raw)):
        for byte in b"\0\n \xff":
            if byte == raw[at]:
                continue
            problem = read(model, tmp_path, raw[:at] + bytes([byte]) + raw[at + 1 :])
            assert problem.startswith("line "), (at, byte)
