"""Compares a session's files with what its runs give when they are judged again. Pure.

Takes the texts of both by name; gives the names that differ, and those that only another version of benchgate
would word differently. Does not fail: a text that is not what benchgate writes differs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from benchgate.evidence import metrics_csv
from benchgate.evidence.session_folder import METRICS, RESULTS, VERDICTS

_WORDS = "reason"
"""The only part of a verdict that is worded."""


@dataclass(frozen=True, slots=True)
class Differences:
    figures: tuple[str, ...]
    """Files that contradict the runs."""
    wording: tuple[str, ...] = ()
    """Files for people and other programs, and reasons. No figure and no verdict is at stake."""


def differences(stored: Mapping[str, str], expected: Mapping[str, str], *, same_source: bool) -> Differences:
    """`same_source`: this benchgate wrote the stored texts, so that every difference counts."""
    differing = [name for name in stored if stored[name] != expected[name]]
    if same_source:
        return Differences(tuple(differing))
    figures = [name for name in differing if _is_contradicted(name, stored[name], expected[name])]
    return Differences(tuple(figures), tuple(name for name in differing if name not in figures))


def _is_contradicted(name: str, stored: str, expected: str) -> bool:
    if name == VERDICTS:
        return not _agree(stored, expected)
    if name == METRICS:
        return stored not in (expected, metrics_csv.without_steps(expected))
    return name == RESULTS


def _agree(stored: str, expected: str) -> bool:
    """Whether all fields that both versions write are equal, but for the wording."""
    try:
        ours, theirs = json.loads(expected), json.loads(stored)
    except (ValueError, RecursionError):
        return False
    if not isinstance(theirs, list) or len(theirs) != len(ours):
        return False
    return all(
        isinstance(their, dict)
        and "outcome" in their
        and all(our[key] == their[key] for key in our.keys() & their.keys() - {_WORDS})
        for our, their in zip(ours, theirs, strict=True)
    )
