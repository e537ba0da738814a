"""Every value of a session's JSON files is changed, and the session sealed again: it is refused, or
docs/reference/evidence.md says that nothing beside this value tells what it must be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.evidence.check import INTACT, MISMATCH, verify_session
from benchgate.evidence.files import SESSION
from benchgate.run.thread_use import keep_samples
from benchgate.session.rejudging import rejudge
from tests import forgerykit
from tests.answerkit import kept_oracle
from tests.forgerykit import edit_json, run_folders
from tests.unit.noise import SECOND, counters

Place = tuple[str | int, ...]
OF_SESSION = r"""
started|finished|pid|pid_started|commit|diff_digest|command|versions/.*|envelope/.*|options/.*|source
inputs/.*|emulators/.*|settings/.*/kernel|workloads/.*|policy/.*|capacity/.*|capacity|letters|notes
plan/[0-9]+/row|plan/[0-9]+/gates/[0-9]+/(tests|settings|at_least|at_most|insn)
chain
"""
"""`chain` is made again by the forger of these tests."""
OF_RUN = r"""
run.json/host_span_ns
argv.json/[0-9]+
affinity.json/[0-9]+/(name|thread|asked/[0-9]+|found/[0-9]+)
"""


OF_MOMENTS = ("threads.json", "host.json")


def covered(place: str, listed: str) -> bool:
    return any(re.fullmatch(pattern, place) for pattern in listed.split())


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with kept_oracle(rejudge):
        yield forgerykit.made(tmp_path_factory.mktemp("reports"))


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return forgerykit.copied(original, tmp_path)


def verified(folder: Path) -> tuple[int, str]:
    """Makes the chain and the manifest again, after all reports, and verifies."""
    forgerykit.forge(folder)
    check = verify_session(folder, rejudge.recompute)
    return check.exit_code, check.text


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    if isinstance(value, dict | list) and value:
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*place, key))
    else:
        yield place


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else "x" if value is None else [*value, "x"]


def change(path: Path, place: Place) -> None:
    data = json.loads(path.read_text())
    *way, last = place
    inner = data
    for key in way:
        inner = inner[key]
    inner[last] = changed(inner[last])
    path.write_text(json.dumps(data, indent=2) + "\n")


def is_of_one_moment(place: Place) -> bool:
    return [text for text in place if isinstance(text, int)][:1] in ([], [1])


def accepted(folder: Path, path: Path) -> set[str]:
    """The values of this file that may be changed. Of what was recorded of threads and host at each moment,
    those of one moment: its numbers may be others, and only that judging comes to an end counts."""
    text, facts, result = path.read_text(), (folder / SESSION).read_text(), set()
    for place in leaves(json.loads(text)):
        if path.name in OF_MOMENTS and not is_of_one_moment(place):
            continue
        change(path, place)
        forgerykit.chain_again(folder)
        forgerykit.seal_again(folder)
        if verify_session(folder, rejudge.recompute).exit_code == INTACT:
            result.add("/".join(map(str, place)))
        path.write_text(text)
        (folder / SESSION).write_text(facts)
    return result


@pytest.mark.long
def test_each_value_of_the_session_is_checked_or_listed(folder: Path) -> None:
    result = accepted(folder, folder / SESSION)
    assert sorted(text for text in result if not covered(text, OF_SESSION)) == []
    assert result  # the list is not empty for want of tries


def test_each_value_of_a_run_is_checked_or_listed(folder: Path) -> None:
    run = run_folders(folder)[3]
    keep_samples(run, counters())
    result = set()
    for path in sorted(run.glob("*.json")):
        result |= {f"{path.name}/{text}" for text in accepted(folder, path)}
    odd = {text for text in result if not text.startswith(OF_MOMENTS)}
    assert sorted(text for text in odd if not covered(text, OF_RUN)) == []
    assert not {text for text in result if re.fullmatch(r"threads.json/1/threads/[12]/thread", text)}


def append(folder: Path, old: str, new: str) -> None:
    path = run_folders(folder)[3] / "argv.json"
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("console=ttyS0 quiet", "console=ttyS0 mitigations=off quiet", "-append in argv.json is not"),
        ("bench.hi=100000", "bench.hi=10", "argv.json asks otherwise: bench.hi=10"),
        (" bench.hi=100000", "", "argv.json asks otherwise: bench.hi=100000"),
        ("bench.workload=primes", "bench.workload=tasks", "argv.json asks otherwise: bench.workload="),
        ("bench.split=cost", "bench.split=cost fault=crowd", "argv.json asks otherwise: fault=crowd"),
        ('"-m"', '"-append", "quiet", "-m"', "-append in argv.json is not"),
        ('"512M"', '"64M"', "(-m 512M), but argv.json has another one"),
        ("sata=off", "sata=on", "(-machine q35,sata=off,smbus=off), but argv.json has another"),
    ],
)
def test_a_command_line_of_another_guest_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    append(folder, old, new)
    forgerykit.chain_again(folder)
    forgerykit.seal_again(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == MISMATCH
    (row,) = [run_row for run_row in rejudge.judge_session(folder).rows if run_row.run == 4]
    assert said in row.reason


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda facts: facts["formats"].update({"results.csv": 2}), "formats in session.json are not"),
        (lambda facts: facts["formats"].update({"metrics.csv": 1}), "formats in session.json are not"),
        (lambda facts: facts.update(formats=1), "formats in session.json are not"),
        (lambda facts: facts.update(state_reason="x"), "its state_reason says why it is not"),
        (lambda facts: facts["reports"].append("more.md"), "lists the report more.md, which is not"),
        (lambda facts: facts["reports"].append("../x"), "lists the report ../x, which is not"),
        (lambda facts: facts["reports"].remove("report.html"), "does not list the report report.html"),
        (
            lambda facts: facts["plan"][0]["gates"][0]["base"].update(workload="tasks"),
            "which is not a cell of the session's plan",
        ),
    ],
)
def test_what_session_json_says_of_its_own_files_is_checked(
    folder: Path, edit: Callable[[dict[str, Any]], object], said: str
) -> None:
    edit_json(folder / SESSION, edit)
    forgerykit.chain_again(folder)
    forgerykit.seal_again(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == MISMATCH
    assert said in check.text


def test_formats_of_an_earlier_version_are_accepted(folder: Path) -> None:
    edit_json(folder / SESSION, lambda facts: facts.update(source="0" * 64))
    edit_json(folder / SESSION, lambda facts: facts["formats"].update({"metrics.csv": 1}))
    assert verified(folder)[0] == INTACT


def test_time_that_the_host_counted_a_tick_late_is_no_contradiction(folder: Path) -> None:
    """A thread that ran all the time, and was looked at just before the host counted its last tick."""
    start, before, after = counters()
    soon = replace(after, t_ns=before.t_ns + SECOND - 1)
    keep_samples(run_folders(folder)[3], (start, before, soon, replace(after, moment="end", t_ns=soon.t_ns)))
    forgerykit.chain_again(folder)
    forgerykit.seal_again(folder)
    assert verified(folder)[0] == INTACT


def longer(threads: list[dict[str, Any]]) -> None:
    """More time on a CPU than passed makes the share of waiting small."""
    threads[1]["threads"][1]["run_ns"] += 4 * SECOND


def shorter(threads: list[dict[str, Any]]) -> None:
    threads[1]["threads"][1]["run_ns"] = 3 * SECOND


def another(threads: list[dict[str, Any]]) -> None:
    for moment in threads[1:]:
        moment["threads"][1]["thread"] = 77


@pytest.mark.parametrize("edit", [longer, shorter, another])
def test_run_times_and_threads_that_cannot_be_are_refused(
    folder: Path, edit: Callable[[Any], object]
) -> None:
    run = run_folders(folder)[3]
    start, before, after = counters()
    last = type(after)("exit", after.t_ns + 1, after.threads, after.host)
    keep_samples(run, (start, before, after, last))
    assert verified(folder)[0] == INTACT
    edit_json(run / "threads.json", lambda data: edit(data[1:] if edit is longer else data))  # type: ignore[index]
    forgerykit.chain_again(folder)
    forgerykit.seal_again(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == MISMATCH
    (row,) = [run_row for run_row in rejudge.judge_session(folder).rows if run_row.run == 4]
    assert "threads.json of " in row.reason
