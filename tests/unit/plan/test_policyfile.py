"""Policies as YAML: the values that are read, and the errors, which name file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.void_rule import VoidRule
from benchgate.plan.policyfile import load, parse

MINE = Path("mine.yaml")
GOOD = """\
name: mine
looks: [5, 9]
alpha: 0.03
overall_error: 0.05
first: 5
max_runs: 9
"""


def test_a_policy_has_defaults() -> None:
    policy = parse(GOOD, MINE)
    assert (policy.name, policy.looks, policy.session_looks) == ("mine", (5, 9), (5, 9))
    assert (policy.superlinear, policy.capacity_reach, policy.minutes, policy.warmups) == (1.05, 0.9, 5, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alpha: 0.03", "alfa: 0.03", r"mine\.yaml:1: alpha: is missing"),
        ("alpha: 0.03", "alpha: 0.03\nalfa: 0.03", r"mine\.yaml:4: alfa: unknown key; did you mean `alpha`"),
        ("alpha: 0.03\n", "", r"mine\.yaml:1: alpha: is missing"),
        ("looks: [5, 9]\n", "", r"mine\.yaml:1: looks: is missing"),
        ("name: mine\n", "", r"mine\.yaml:1: name: is missing"),
        ("alpha: 0.03", "alpha: a lot", r"mine\.yaml:3: alpha: expected a number, found `a lot`"),
        ("alpha: 0.03", "alpha: [1]", r"mine\.yaml:3: alpha: expected a number"),
        ("alpha: 0.03", "alpha: .nan", r"mine\.yaml:3: alpha: expected a number"),
        (
            "alpha: 0.03",
            "alpha: 0.4",
            r"mine\.yaml:1: \(top\): need 0 < alpha <= overall_error < 0\.5, not 0\.4, 0\.05",
        ),
        ("overall_error: 0.05", "overall_error: .inf", r"mine\.yaml:4: overall_error: expected a number"),
        ("first: 5", "first: 5.5", r"mine\.yaml:5: first: expected a whole number, found `5\.5`"),
        ("first: 5", "first: true", r"mine\.yaml:5: first: expected a whole number, found `true`"),
        ("first: 5", "first: 0x5", r"mine\.yaml:5: first: expected a whole number, found `0x5`"),
        ("first: 5", "first: 5\nfirst: 7", r"mine\.yaml:6: first: is duplicated"),
        ("looks: [5, 9]", "looks: 5", r"mine\.yaml:2: looks: expected a list"),
        ("looks: [5, 9]", "looks: [9, 5]", r"mine\.yaml:1: \(top\): looks must be in ascending order"),
        ("looks: [5, 9]", "looks: [5, 201]", r"mine\.yaml:1: \(top\): a look must be odd and from 5 to 199"),
        (
            "first: 5",
            "first: 999999999",
            r"mine\.yaml:1: \(top\): first, max_runs and warmups must be",
        ),
        ("looks: [5, 9]", "looks: []", r"mine\.yaml:1: \(top\): looks must be in ascending order"),
        ("looks: [5, 9]", "looks: [5, {}]", r"mine\.yaml:2: looks: expected words"),
        ("looks: [5, 9]", "looks: [5, nine]", r"mine\.yaml:2: looks: expected whole numbers"),
        ("first: 5", "first: 5\ninforms: no", r"mine\.yaml:6: informs: unknown key"),
        ("name: mine", "name: ''", r"mine\.yaml:1: name: is missing: the key has no value"),
        ("name: mine", "name: [", r"mine\.yaml:\d+: is not YAML"),
    ],
)
def test_an_invalid_policy_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        parse(GOOD.replace(old, new), MINE)


@pytest.mark.parametrize("text", ["", "- 1", "just words", "x" * 100_000])
def test_a_file_without_a_mapping_is_refused(text: str) -> None:
    with pytest.raises(CatalogError, match=r"mine\.yaml"):
        parse(text, MINE)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"mine\.yaml: cannot be read: No such file"):
        load(tmp_path / "mine.yaml")


def test_every_default_of_a_policy_can_be_changed() -> None:
    more = "superlinear: 1.2\nsuperlinear_ideal: 1.1\ncapacity_reach: 0.8\nwarmups: 2\n"
    policy = parse(GOOD + more, MINE)
    assert policy.superlinear_ideal == 1.1
    assert (policy.superlinear, policy.capacity_reach, policy.warmups) == (1.2, 0.8, 2)


def test_the_rule_for_void_runs_can_be_changed_key_by_key() -> None:
    text = GOOD + "void: {run_delay: 0.1, steal: off, psi_cpu: 0.4, most: 7, share: 0.25}\n"
    rule = parse(text, MINE).void
    assert rule == VoidRule(run_delay=0.1, steal=None, psi_cpu=0.4, most=7, share=0.25)
    assert (rule.migrations, rule.frequency, rule.throttles, rule.involuntary) == (0, 0.02, 0, None)
    assert parse(GOOD, MINE).void == VoidRule()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{run_delay: no}", r"void\.run_delay: expected a number, found `no`"),
        ("{run_delay: -1}", r"void\.run_delay: "),
        ("{delay: 1}", r"void\.delay: unknown key"),
        ("{share: 1}", r"void\.: need void\.most >= 0 and 0 <= void\.share < 1"),
        ("{most: 1.5}", r"void\.most: expected a whole number"),
        ("off", r"void: expected a mapping"),
    ],
)
def test_an_invalid_rule_for_void_runs_is_refused(rule: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        parse(f"{GOOD}void: {rule}\n", MINE)


def test_the_shipped_policy_states_the_default_rule_in_full() -> None:
    path = Path(__file__).parents[3] / "fixtures" / "gates" / "default.yaml"
    assert load(path).void == VoidRule()
    assert all(f"  {name}: " in path.read_text() for name in (*VoidRule().limits, "most", "share"))
