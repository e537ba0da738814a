"""Idle CPUs beside waiting threads on Linux: the scenarios of "A Decade of Wasted Cores", on several nodes.

docs/measured/figures.md has measured figures. If every CPU were used from the start, nothing would
be wasted. If no thread left home, the CPUs of the other node would idle until the work is over, half of all
CPUs: 50%; with `case=hops` a quarter, because two of the four nodes may not be used: 25%. A gate stands
half way between: `at_most` where threads leave home in time, `at_least` where the finding is that they do
not.

Three limits are only measured: that of a group beside a hog on 8 CPUs (one seed of five has 25.6%), and
those of pairs that wake each other, whose seeds differ most.
"""

import pytest

from benchgate import VerdictResult

pytestmark = pytest.mark.schedulers

TWO_SMALL = pytest.mark.machine("tests/schedulers/two_nodes.yaml")
FOUR_SMALL = pytest.mark.machine("tests/schedulers/ring_of_four.yaml")
TWO = pytest.mark.machine("server2x16")
FOUR = pytest.mark.machine("server4x8")
HOME = pytest.mark.workload("overload", case="home")
GROUP = pytest.mark.workload("overload", case="group")
HOPS = pytest.mark.workload("overload", case="hops", nodes=4)
WAKE = pytest.mark.workload("overload", case="wake", turns=4_000_000, rounds=40)
HOTPLUG = pytest.mark.workload("overload", case="hotplug")


@TWO_SMALL
@HOME
@pytest.mark.limit(cpus=8, metric="wasted", at_most=0.25)
def test_threads_of_one_node_small(verdict: VerdictResult) -> None:
    verdict.require_pass()


@TWO_SMALL
@GROUP
@pytest.mark.limit(cpus=8, metric="wasted", at_most=0.3)
def test_a_group_beside_a_hog_small(verdict: VerdictResult) -> None:
    verdict.require_pass()


@FOUR_SMALL
@HOPS
@pytest.mark.limit(cpus=8, metric="wasted", at_least=0.125)
def test_two_nodes_two_hops_apart_small(verdict: VerdictResult) -> None:
    verdict.require_pass()


@TWO_SMALL
@WAKE
@pytest.mark.limit(cpus=8, metric="wasted", at_most=0.4)
def test_pairs_that_wake_each_other_small(verdict: VerdictResult) -> None:
    verdict.require_pass()


@TWO_SMALL
@HOTPLUG
@pytest.mark.limit(cpus=8, metric="wasted", at_most=0.25)
def test_threads_of_one_node_after_hotplug_small(verdict: VerdictResult) -> None:
    verdict.require_pass()


@TWO
@HOME
@pytest.mark.limit(cpus=32, metric="wasted", at_least=0.25)
def test_threads_of_one_node(verdict: VerdictResult) -> None:
    verdict.require_pass()


@TWO
@GROUP
@pytest.mark.limit(cpus=32, metric="wasted", at_least=0.25)
def test_a_group_beside_a_hog(verdict: VerdictResult) -> None:
    verdict.require_pass()


@FOUR
@HOPS
@pytest.mark.limit(cpus=32, metric="wasted", at_most=0.125)
def test_two_nodes_two_hops_apart(verdict: VerdictResult) -> None:
    verdict.require_pass()


@TWO
@WAKE
@pytest.mark.limit(cpus=32, metric="wasted", at_least=0.1)
def test_pairs_that_wake_each_other(verdict: VerdictResult) -> None:
    verdict.require_pass()


@TWO
@HOTPLUG
@pytest.mark.limit(cpus=32, metric="wasted", at_least=0.25)
def test_threads_of_one_node_after_hotplug(verdict: VerdictResult) -> None:
    verdict.require_pass()
