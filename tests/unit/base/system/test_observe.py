"""Expressions over a kernel's memory: their trees by hand, and what is refused."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.system.observe import (
    Address,
    Call,
    Cast,
    Combination,
    Constant,
    Element,
    Identifier,
    Member,
    Tree,
    formula,
)

A, B = Identifier("arg0"), Identifier("arg1")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("arg0->pid", Member(A, "pid", is_pointer=True)),
        ("arg0.nr_running", Member(A, "nr_running", is_pointer=False)),
        ("percpu(rq).cfs.n", Member(Member(Call("percpu", (Identifier("rq"),)), "cfs", False), "n", False)),
        (
            "cpus[cpu].current",
            Member(Element(Identifier("cpus"), Identifier("cpu")), "current", is_pointer=False),
        ),
        ("(struct rq *)arg0", Cast("rq", A)),
        ("(rq*)arg0->cpu", Cast("rq", Member(A, "cpu", is_pointer=True))),
        ("((rq *)arg0)->cpu", Member(Cast("rq", A), "cpu", is_pointer=True)),
        ("(arg0)", A),
        ("!arg0 && arg1", Combination("&&", (Combination("!", (A,)), B))),
        ("arg0 & 0x80 == 1", Combination("&", (A, Combination("==", (Constant(0x80), Constant(1)))))),
        ("arg0 - 1 - arg1", Combination("-", (Combination("-", (A, Constant(1))), B))),
        ("arg0 || arg1 && 2", Combination("||", (A, Combination("&&", (B, Constant(2)))))),
        ("&arg0->pid == arg1", Combination("==", (Address(Member(A, "pid", is_pointer=True)), B))),
        ("arg0 >= 1 & &arg1", Combination("&", (Combination(">=", (A, Constant(1))), Address(B)))),
        ("arg0 > 1 >> arg1", Combination(">", (A, Combination(">>", (Constant(1), B))))),
        ("arg0 * 3 >> 1 & arg1", Combination("&", (formula("arg0 * 3 >> 1").tree, B))),
        ("arg0 >> 1 + 2", Combination(">>", (A, Combination("+", (Constant(1), Constant(2)))))),
        ("u32(arg0 + 24)", Call("u32", (Combination("+", (A, Constant(24))),))),
    ],
)
def test_an_expression_is_read_as_c_reads_it(text: str, tree: Tree) -> None:
    assert formula(text).tree == tree


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its end where a value"),
        ("arg0 ->", "its end"),
        ("arg0 arg1", "`arg1` behind"),
        ("arg0 / 2", "`/ 2`"),
        ("f(arg0)", "calls `f`"),
        ("container(arg0, a)", "2 values"),
        ("arg0->3", "`3` where a name"),
        ("(arg0", "`)` is expected"),
        ("1" * 30, "64 bits"),
        ("(" * 60 + "1" + ")" * 60, "brackets"),
        ("1+" * 150 + "1", "longer than"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        formula(text)


@given(st.text(alphabet="arg0->.()[]!&|=<>+ *1u8x,", max_size=220))
def test_no_text_ends_in_anything_but_a_tree_or_a_reason(text: str) -> None:
    with contextlib.suppress(ValueError):
        formula(text)
