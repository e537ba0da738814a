"""A session folder that was changed, truncated or built as an attack is refused with its own exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.evidence import check, session_folder
from benchgate.evidence.chain import chain_start, chained, manifest_text, parse_chain
from benchgate.evidence.check import verify_session
from benchgate.evidence.files import MANIFEST, digest_of, files_below
from tests import forgerykit
from tests.unit.sessions import finished_session, recomputed

RUN = "runs/0002-primes-linux-smp1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return finished_session(tmp_path / "reports").folder


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def reseal(folder: Path) -> None:
    """Writes a manifest that fits the changed files, as a forger would."""
    names = [name for name in files_below(folder) if name != MANIFEST]
    digests = {name: digest_of(folder, name) for name in names}
    (folder / MANIFEST).write_text(manifest_text(digests))


def refused(folder: Path, code: int, said: str) -> None:
    result = verify_session(folder, recomputed)
    assert result.exit_code == code, result.text
    assert said in result.text


@pytest.mark.parametrize(
    "name",
    ["session.json", "results.csv", "verdicts.json", "summary.md", "attempts.jsonl", f"{RUN}/serial.log"],
)
def test_a_changed_byte_is_found_in_each_file(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[-2] ^= 1
    (folder / name).write_bytes(data)
    assert verify_session(folder, recomputed).exit_code == 10


def test_a_raw_log_changed_and_resealed_breaks_the_chain(folder: Path) -> None:
    edit(folder / RUN / "serial.log", "console", "konsole")
    reseal(folder)
    refused(folder, 10, f"{RUN} was changed after its run")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("spans latency 0 inner 2 30 10 20", "spans latency 0 inner 2 20 10 10"),
        ("saw work 0 spun 400", "saw work 0 spun 0"),
        ("host carrier fsbase", "host carrier threads"),
        ("host tsc_thunks 2", "host tsc_thunks 0"),
    ],
)
def test_an_edited_line_of_the_clocks_log_is_found_also_if_resealed(folder: Path, old: str, new: str) -> None:
    """Of some of these lines no other account knows, so that only hashes protect them."""
    log = "spans latency 0 inner 2 30 10 20\nsaw work 0 spun 400\nhost carrier fsbase\nhost tsc_thunks 2\n"
    (folder / RUN / "clock.log").write_text(log)
    forgerykit.chain_again(folder)
    forgerykit.seal_again(folder)
    assert verify_session(folder, recomputed).exit_code == 0
    edit(folder / RUN / "clock.log", old, new)
    refused(folder, 10, f"{RUN}/clock.log")
    reseal(folder)
    refused(folder, 10, f"{RUN} was changed after its run")


def test_an_outcome_changed_and_resealed_breaks_the_chain(folder: Path) -> None:
    edit(folder / "attempts.jsonl", '"invalid"', '"ok"')
    reseal(folder)
    refused(folder, 10, "the chain of attempts breaks at run 3")


def test_a_removed_last_attempt_is_found_although_resealed(folder: Path) -> None:
    lines = (folder / "attempts.jsonl").read_text().splitlines(keepends=True)
    (folder / "attempts.jsonl").write_text("".join(lines[:-1]))
    rows = (folder / "results.csv").read_text().splitlines(keepends=True)
    (folder / "results.csv").write_text("".join(rows[:-1]))
    shutil.rmtree(folder / "runs/0003-primes-linux-smp1")
    reseal(folder)
    refused(folder, 10, "attempts were removed or added")


def test_attempts_of_another_session_are_found(folder: Path) -> None:
    edit(folder / "session.json", folder.name, f"{folder.name[:-6]}zzzzzz")
    reseal(folder)
    refused(folder, 10, "the chain of attempts breaks at run 1")


def no_last_newline(text: str) -> str:
    return text.removesuffix("\n")


def exchanged(text: str) -> str:
    return "".join(reversed(text.splitlines(keepends=True)))


@pytest.mark.parametrize(
    "change",
    [
        no_last_newline,
        exchanged,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", "\v", 1),
        lambda text: text.replace("\n", "\f", 1),
        lambda text: text.replace("\n", "\u2028", 1),
        lambda text: text.replace("\n", "\n\n", 1),
        lambda text: f"{text}\n",
        lambda text: f"\n{text}",
    ],
)
def test_a_manifest_in_another_form_is_found(folder: Path, change: Callable[[str], str]) -> None:
    """`sha256sum --check` accepts most of these, but the file is not the one that was sealed."""
    text = (folder / MANIFEST).read_text()
    changed = change(text)
    assert changed != text
    (folder / MANIFEST).write_bytes(changed.encode())
    refused(folder, 10, MANIFEST)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\v", 1),
        lambda text: text.replace('{"run": 1,', '{"run":  1,'),
        lambda text: text.replace('{"run": 1,', '{ "run": 1,'),
    ],
)
def test_a_chain_in_another_form_is_found_although_resealed(
    folder: Path, change: Callable[[str], str]
) -> None:
    text = (folder / "attempts.jsonl").read_text()
    assert change(text) != text
    (folder / "attempts.jsonl").write_bytes(change(text).encode())
    reseal(folder)
    refused(folder, 10, "attempts.jsonl")


class Killed(BaseException):
    """The process ends here."""


class Steps:
    """Counts what a session does to its folder, and kills it at one step: before it, or after a file was
    written under its temporary name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int, moment: str) -> None:
        self.left, self.moment = last, moment
        for place, name in ((session_folder, "write_whole"), (session_folder, "append_line")):
            monkeypatch.setattr(place, name, self._counted(getattr(place, name)))
        monkeypatch.setattr(Path, "mkdir", self._counted(Path.mkdir))

    def _counted(self, real: Callable[..., None]) -> Callable[..., None]:
        def step(path: Path, *words: Any, **more: Any) -> None:
            self.left -= 1
            if self.left < 0:
                if self.moment == "half" and real.__name__ == "write_whole":
                    path.with_name(f"{path.name}.new").write_text(words[0][:10])
                if self.moment == "half" and real.__name__ == "append_line":
                    with path.open("a") as stream:
                        stream.write(words[0][:10])
                raise Killed
            real(path, *words, **more)

        return step


@pytest.mark.parametrize("moment", ["before", "half"])
def test_a_session_killed_between_any_two_files_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    codes = []
    for last in range(100):
        reports = tmp_path / str(last)
        with monkeypatch.context() as patch:
            Steps(patch, last, moment)
            try:
                finished_session(reports)
            except Killed:
                pass
            else:
                break
        made = sorted(reports.glob("runs/*"))
        result = verify_session(made[0] if made else reports, recomputed)
        codes.append((last, result.exit_code, result.text))
    assert len(codes) > 15  # three attempts of three steps, and the session's own files
    assert [code for code in codes if code[1] != 11] == []


def test_an_added_file_is_found(folder: Path) -> None:
    (folder / RUN / "more.log").write_text("x")
    refused(folder, 10, f"{RUN}/more.log is not in the manifest")


@pytest.mark.parametrize("name", ["summary.md", f"{RUN}/serial.log"])
def test_a_missing_file_is_incomplete_or_tampered_if_it_is_in_the_chain(folder: Path, name: str) -> None:
    (folder / name).unlink()
    code = 11 if name == "summary.md" else 10
    refused(folder, code, f"{name} is in the manifest, but the file is missing")


def test_a_missing_attempt_is_incomplete(folder: Path) -> None:
    shutil.rmtree(folder / RUN)
    refused(folder, 11, f"the folder {RUN} is missing")


def test_an_attempt_without_a_record_is_incomplete(folder: Path) -> None:
    (folder / "runs/0004-primes-linux-smp2").mkdir()
    refused(folder, 11, "runs/0004-primes-linux-smp2 was started, but never recorded")


def test_a_row_changed_and_resealed_is_a_mismatch(folder: Path) -> None:
    edit(folder / "results.csv", ",3,2,7,invalid,", ",3,2,7,crashed,")
    reseal(folder)
    refused(folder, 12, "the 3 runs in results.csv differ from the 3 in attempts.jsonl")


def test_a_verdict_that_does_not_follow_from_the_runs_is_a_mismatch(folder: Path) -> None:
    edit(folder / "verdicts.json", '"outcome": "PASS"', '"outcome": "FAIL"')
    reseal(folder)
    refused(folder, 12, "verdicts.json does not follow from the runs")
    assert verify_session(folder).exit_code == 0  # only judging again can find it


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"base_cpus": 1', '"base_cpus": true'),
        ('"runs": 5', '"runs": 5.0'),
        ('"outcome": "PASS"', '"outcome": "FAIL", "outcome": "PASS"'),
    ],
)
def test_a_verdict_file_that_parsers_read_differently_is_a_mismatch(folder: Path, old: str, new: str) -> None:
    edit(folder / "verdicts.json", old, new)
    reseal(folder)
    refused(folder, 12, "verdicts.json does not follow from the runs")


@pytest.mark.parametrize("name", ["VERDICT.md", "more/attribution.md"])
def test_an_extra_report_is_a_mismatch(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("# PASS\n")
    reseal(folder)
    refused(folder, 12, f"{name.partition('/')[0]} does not belong to a session")


def test_a_duplicate_key_in_session_json_is_refused(folder: Path) -> None:
    edit(folder / "session.json", '"state": "complete"', '"state": "partial", "state": "complete"')
    reseal(folder)
    refused(folder, 10, "duplicate key 'state'")


@pytest.mark.parametrize("text", ["[", "[" * 100_000, "null"])
def test_a_verdict_file_that_is_not_a_list_is_a_mismatch(folder: Path, text: str) -> None:
    (folder / "verdicts.json").write_text(text)
    reseal(folder)
    refused(folder, 12, "verdicts.json does not follow")


def test_judging_again_without_verdicts_is_a_mismatch(folder: Path) -> None:
    def silent(_: Path) -> Mapping[str, str]:
        return {}

    result = verify_session(folder, silent)
    assert result.exit_code == 12
    assert "gave no verdicts" in result.text


def test_an_evidence_error_while_judging_again_is_a_mismatch(folder: Path) -> None:
    def failing(_: Path) -> Mapping[str, str]:
        raise EvidenceError("run 2 has no serial.log")

    result = verify_session(folder, failing)
    assert (result.exit_code, result.messages[1]) == (12, "mismatch: run 2 has no serial.log")


def test_a_pattern_without_end_is_stopped_at_the_limit_of_cpu_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "MOST_CPU_S", 0.2)

    def stuck(_folder: Path) -> dict[str, str]:
        re.search(r"(a+)+$", "a" * 60 + "b")
        return {}

    result = verify_session(folder, stuck)
    assert result.exit_code == 12
    assert "more than 0.2 s of CPU time" in result.text


@pytest.mark.parametrize("wrong", [ValueError, TypeError, KeyError, ZeroDivisionError, OverflowError])
def test_any_exception_while_judging_again_is_a_mismatch(folder: Path, wrong: type[Exception]) -> None:
    def failing(_: Path) -> Mapping[str, str]:
        raise wrong("out of range")

    result = verify_session(folder, failing)
    assert result.exit_code == 12
    assert f"cannot be judged again: {wrong.__name__}" in result.text


@pytest.mark.parametrize(
    ("field", "value"), [("version", 2), ("version", "1"), ("version", True), ("format", "x")]
)
def test_an_unknown_version_is_reported_before_anything_else(folder: Path, field: str, value: object) -> None:
    data = json.loads((folder / "session.json").read_text())
    (folder / "session.json").write_text(json.dumps(data | {field: value}))
    refused(folder, 13, "unknown format")


@pytest.mark.parametrize("text", ["", "{", "[]", "\udc80", "{" * 200_000, '{"a":' * 100_000])
def test_a_session_file_that_is_not_a_json_object_is_tampered(folder: Path, text: str) -> None:
    (folder / "session.json").write_bytes(text.encode(errors="surrogateescape"))
    assert verify_session(folder, recomputed).exit_code == 10


def test_a_path_without_a_session_is_incomplete(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent"):
        assert verify_session(place, recomputed).exit_code == 11
    (tmp_path / "file").write_text("x")
    assert verify_session(tmp_path / "file", recomputed).exit_code == 11


def link_out(folder: Path) -> None:
    (folder / "summary.md").unlink()
    (folder / "summary.md").symlink_to("/etc/passwd")


def link_folder_out(folder: Path) -> None:
    shutil.move(folder / RUN, folder.parent / "elsewhere")
    (folder / RUN).symlink_to(folder.parent / "elsewhere")


def link_session(folder: Path) -> None:
    shutil.copy(folder / "session.json", folder.parent / "s.json")
    (folder / "session.json").unlink()
    (folder / "session.json").symlink_to(folder.parent / "s.json")


def link_session_to_another_version(folder: Path) -> None:
    """A check that follows the link reports an unknown version instead of the link."""
    (folder.parent / "s.json").write_text('{"format": "benchgate-session", "version": 99}')
    (folder / "session.json").unlink()
    (folder / "session.json").symlink_to(folder.parent / "s.json")


def pipe(folder: Path) -> None:
    (folder / "summary.md").unlink()
    os.mkfifo(folder / "summary.md")


def pipe_for_session(folder: Path) -> None:
    (folder / "session.json").unlink()
    os.mkfifo(folder / "session.json")


def huge(folder: Path) -> None:
    with (folder / "summary.md").open("wb") as stream:
        stream.truncate(1 << 40)  # sparse: a terabyte that occupies no disk space


def huge_session(folder: Path) -> None:
    with (folder / "session.json").open("r+b") as stream:
        stream.truncate(1 << 40)


def escape_by_manifest(folder: Path) -> None:
    with (folder / "manifest.sha256").open("a") as stream:
        stream.write(f"{'0' * 64}  ../../../etc/passwd\n")


def absolute_manifest(folder: Path) -> None:
    with (folder / "manifest.sha256").open("a") as stream:
        stream.write(f"{'0' * 64}  /etc/passwd\n")


def escape_by_chain(folder: Path) -> None:
    edit(folder / "attempts.jsonl", RUN, "runs/../../../../etc")
    reseal(folder)


def escape_by_a_whole_chain(folder: Path) -> None:
    """A whole new chain, with one attempt outside of the session's folder."""
    facts = json.loads((folder / "session.json").read_text())
    previous, lines = chain_start(facts["id"]), []
    for number, link in enumerate(parse_chain((folder / "attempts.jsonl").read_text(), "a"), start=1):
        place = "runs/../../../outside" if number == 2 else link.folder
        made = chained(previous, number, place, link.outcome, link.digest)
        previous = made.chain
        lines.append(made.line())
    shutil.copytree(folder / RUN, folder.parents[1] / "outside")
    (folder / "attempts.jsonl").write_text("".join(lines))
    (folder / "session.json").write_text(json.dumps(facts | {"chain": previous}))
    reseal(folder)
    assert (folder / "runs/../../../outside/serial.log").exists()


def terminal_name(folder: Path) -> None:
    (folder / "\x1b[31mred").write_text("x")


def deep(folder: Path) -> None:
    (folder / "/".join("d" * 20)).mkdir(parents=True)


@pytest.mark.parametrize(
    "attack",
    [
        link_out,
        link_folder_out,
        link_session,
        link_session_to_another_version,
        pipe,
        pipe_for_session,
        huge,
        huge_session,
        escape_by_manifest,
        absolute_manifest,
        escape_by_chain,
        escape_by_a_whole_chain,
        terminal_name,
        deep,
    ],
)
def test_an_attack_on_the_check_is_refused(folder: Path, attack: Callable[[Path], None]) -> None:
    attack(folder)
    result = verify_session(folder, recomputed)
    assert result.exit_code == 10
    assert "root:" not in result.text
    assert "\x1b" not in result.text
