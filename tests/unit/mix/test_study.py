from __future__ import annotations

from fractions import Fraction

import pytest

from benchgate.mix import study


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("0.00012344155042587335", Fraction(12344155042587335, 10**20)),
        ("12345678901.5", Fraction(24691357803, 2)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
        ("1e+0", Fraction(1)),
        ("1e+16", Fraction(10**16)),
        ("1.5E-05", Fraction(15, 10**6)),
        ("-1", Fraction(-1)),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_numbers_that_people_and_programs_write(word: str, value: Fraction) -> None:
    assert study.written_number(word) == value


@pytest.mark.parametrize(
    "word", ["", ".", "e5", "1e100", "1e99999999", "1/0", "1_0", "nan", "٣", "1" * 41, "1 ", "1\n", "0x1"]
)
def test_what_is_no_number_or_would_fill_the_memory(word: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        study.written_number(word)


def test_what_a_study_keeps() -> None:
    small = Fraction(1, 10**139)
    assert study.kept_number(str(small)) == small
    assert study.kept_number("-3/4") == Fraction(-3, 4)
    for word in ("1e9", "0.5", "1/0", "1" * 301, "1/" + "1" * 301):
        with pytest.raises(ValueError, match="is no number"):
            study.kept_number(word)
