"""Readers of kernel files: lists of CPUs, numbers, and None for everything that is missing or invalid."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.host.procfs import as_list, cpu_list, cpu_list_of, number_of, text_of


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", ()),
        ("0", (0,)),
        ("0-3", (0, 1, 2, 3)),
        ("5,0-1", (0, 1, 5)),
        (" 2 , 4-5\n", (2, 4, 5)),
        ("1,1", (1,)),
    ],
)
def test_a_kernel_list_is_read(text: str, cpus: tuple[int, ...]) -> None:
    assert cpu_list(text) == cpus


@pytest.mark.parametrize(
    "text", ["(null)", "a", "3-1", "-1", "0-", "1.5", "0-99999", "999999999", "0-3:1/2", "٣"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        cpu_list(text)


@given(st.frozensets(st.integers(0, 300)))
def test_a_written_list_reads_back_equal(cpus: frozenset[int]) -> None:
    text = as_list(cpus)
    assert (text == "none") == (not cpus)
    if cpus:
        assert cpu_list(text) == tuple(sorted(cpus))


def test_lists_are_written_with_ranges() -> None:
    assert as_list([7, 0, 2, 1, 5]) == "0-2,5,7"


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert text_of(tmp_path / "absent") is None
    assert text_of(tmp_path) is None
    assert number_of(tmp_path / "absent") is None
    assert cpu_list_of(tmp_path / "absent") is None


def test_a_file_with_other_contents_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xff12\n")
    assert number_of(tmp_path / "file") is None
    assert cpu_list_of(tmp_path / "file") is None
