"""The simulated gate `regression`: how often it is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

from benchgate.base.gates import Word
from benchgate.features.baseline.tools.simulation import LOSS, against_baseline
from tools.simulation import DEFAULT

DRAWS = 1000


def test_a_baseline_that_stays_as_it_is_keeps_both_errors_small() -> None:
    """At the threshold itself either verdict is wrong: at most the policy's 5%, with four standard errors."""
    most = 0.05 + 4 * math.sqrt(0.05 * 0.95 / DRAWS)
    row = against_baseline(DEFAULT, LOSS, 0.01, DRAWS, seed=1)
    assert 0 < row.shares[Word.PASS] < most
    assert 0 < row.shares[Word.FAIL] < most
    too_often = against_baseline(replace(DEFAULT, alpha=0.15, overall_error=0.2), LOSS, 0.01, DRAWS, seed=1)
    assert too_often.shares[Word.PASS] > most


def test_a_loss_of_five_percent_is_found_and_none_is_imagined() -> None:
    result, none = (against_baseline(DEFAULT, loss, 0.01, DRAWS, seed=1).shares for loss in (1.05, 1.0))
    assert result[Word.FAIL] > 0.95
    assert (Word.PASS in result, Word.FAIL in none) == (False, False)
