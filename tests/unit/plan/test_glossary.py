"""The glossary: some 30 words, each in one sentence, found in texts and nowhere else explained."""

from __future__ import annotations

import re

import pytest

from benchgate.base.paths import data_root
from benchgate.commands import docs
from benchgate.plan import glossary


def words_in(text: str) -> list[str]:
    return [term.word for _, _, term in glossary.found(text)]


def test_each_word_has_one_sentence_and_a_page() -> None:
    for term in glossary.TERMS:
        assert term.meaning[0].isupper()
        assert term.meaning.endswith(".")
        assert not re.search(r"[.!?] ", term.meaning), term.word
        assert len(term.meaning) < 160
        assert term.page in docs.names()
    names = [term.word for term in glossary.TERMS]
    assert names == sorted(set(names))
    assert 25 <= len(names) <= 35


def test_words_are_found_as_words_and_longer_ones_first() -> None:
    assert words_in("5 runs per arm; the noise floor of two arms") == ["run", "arm", "noise floor", "arm"]
    assert words_in("alarm, narrow, armed, windowed") == []
    assert words_in("arm-smp2 runs/0003 run.json gate(x) x.arm") == ["run"]  # a folder, not a file or a name
    assert words_in("in the window.") == ["window"]


@pytest.mark.parametrize("word", ["arm", "Arms", "noise-floor", "noise floor"])
def test_a_word_is_known_in_its_forms(word: str) -> None:
    assert glossary.term_of(word) is not None
    assert glossary.term_of("armament") is None


def test_the_developers_glossary_does_not_say_a_word_twice() -> None:
    text = (data_root() / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    developers = set(re.findall(r"^\| (\w[\w ]*) \|", text, re.MULTILINE)) - {"word"}
    assert developers
    assert developers & set(glossary.WORDS) == set()
    assert "docs/reference/glossary.md" in text
