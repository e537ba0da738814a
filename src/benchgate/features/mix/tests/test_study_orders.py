from __future__ import annotations

from dataclasses import replace

from benchgate.evidence.files import is_safe_name
from benchgate.features.mix import study_orders
from benchgate.features.mix.study import DUMMY, StudySweep
from benchgate.features.mix.study_orders import Limit, PartOrder
from benchgate.features.mix.tests import mixsim


def test_each_input_runs_alone_beside_a_dummy_with_each_seed() -> None:
    orders = [*study_orders.alone(mixsim.study())]
    assert len(orders) == 4 * 3
    assert orders[0].key == "alone-prime.small-s1"
    assert [order.name for order in orders[0].parts] == ["prime.small#1", "dummy#1"]
    assert [order.seed for order in orders[:3]] == [1, 2, 3]


def test_the_last_input_of_each_application_is_limited_in_each_resource() -> None:
    orders = [*study_orders.limited(mixsim.study())]
    assert len(orders) == 3 * 6 * 3 * 3
    assert orders[0].key == "limit-prime.large-cpu75-s1"
    assert orders[0].limit == Limit("cpu", 75)
    assert len([*study_orders.limited(replace(mixsim.study(), every_input=True))]) == 4 * 6 * 3 * 3


def test_the_instances_of_a_mix_are_numbered() -> None:
    (order, *_) = study_orders.of_mixes(mixsim.study(), [{"prime.small": 2, "walker.small": 1}])
    assert order.key == "mix-prime.small=2,walker.small=1-s1"
    assert [part.name for part in order.parts] == ["prime.small#1", "prime.small#2", "walker.small#1"]


def test_a_mix_of_one_part_is_that_part_alone() -> None:
    (order, *_) = study_orders.of_mixes(mixsim.study(), [{"prime.small": 1}])
    (alone, *_) = study_orders.alone(mixsim.study())
    assert order.parts == alone.parts


def test_a_sweep_pins_both_to_cpus_of_their_own() -> None:
    study = replace(mixsim.study(), cpus=4, sweep=StudySweep("prime.small", (1, 3), "walker.small", 1))
    orders = {order.key: order for order in study_orders.swept(study)}
    assert len(orders) == 2 * 2 * 3
    mine, partner = orders["sweep-3cpus-walker.small-s2"].parts
    assert mine == PartOrder("prime.small", 1, 3, (0, 1, 2))
    assert partner == PartOrder("walker.small", 1, 1, (3,))
    assert orders["sweep-1cpus-dummy-s1"].parts[1].input == DUMMY


def test_a_sweep_without_pins() -> None:
    study = replace(mixsim.study(), sweep=StudySweep("prime.small", (2,), "prime.small", 0))
    mine, partner = next(order for order in study_orders.swept(study) if "dummy" not in order.key).parts
    assert (mine.cpus, mine.workers) == ((), 2)
    assert partner == PartOrder("prime.small", 2)


def test_keys_differ_and_are_names_of_folders() -> None:
    study = mixsim.study()
    many = {f"application_{n}.input_with_a_long_name": n + 1 for n in range(9)}
    more = {**many, "application_8.input_with_a_long_name": 10}
    orders = [
        *study_orders.alone(study),
        *study_orders.limited(study),
        *study_orders.swept(study),
        *study_orders.of_mixes(study, [many, more]),
    ]
    assert len({order.key for order in orders}) == len(orders)
    assert all(is_safe_name(f"runs/{order.key}/1/serial.log") for order in orders)
