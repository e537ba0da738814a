"""The log of the instruction clock is changed after a good run, by somebody who makes every hash again.

Nothing is left that knows of the change but the rest of the log and what the guest printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.runs import RawRun
from benchgate.build.fetch import inputs
from benchgate.judge import verify
from benchgate.judge.judged_run import JudgedRun, judge_run
from benchgate.plan import catalog
from tests.ternkit import Bootkit

LINUX, SERVICE = catalog.load_system("linux"), catalog.load_workload("service")
CONTRADICTED = "the machine contradicts the guest: "
DISAGREE = "the machine's counts do not agree with its log: "


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> RawRun:
    kit = Bootkit(tmp_path_factory.mktemp("edited"), inputs.qemu(), insn=True)
    planned = kit.planned(LINUX, SERVICE, 2, {"requests": 300})
    seen = kit.observed(planned, threads=False)
    judged = kit.run(LINUX, SERVICE, 2, {"requests": 300}, observed=seen, counted=True)
    assert judged.verified, judged.reason
    assert judged.verified.measured == {"latency"}
    return judged.run


def edited(run: RawRun, folder: Path, text: str) -> JudgedRun:
    assert run.clock_log
    (folder / "clock.log").write_text(text)
    for one in run.folder.iterdir():
        if one.name != "clock.log":
            (folder / one.name).write_bytes(one.read_bytes())
    moved = replace(run, folder=folder, clock_log=folder / "clock.log")
    return judge_run(moved, lambda raw: verify.verify_on(raw, SERVICE, LINUX))


def text_of(run: RawRun) -> str:
    assert run.clock_log
    return run.clock_log.read_text()


def test_the_log_as_it_was_is_accepted(good: RawRun, tmp_path: Path) -> None:
    assert edited(good, tmp_path, text_of(good)).verified


def flattened(text: str, kinds: str) -> str:
    """All lengths of these kinds are as the shortest one of their thread."""
    lines: list[str] = []
    for line in text.splitlines():
        word, *rest = line.split(" ")
        if word == "spans" and rest[2] in kinds:
            count, _, least, _ = rest[3:]
            lines.append(" ".join([word, *rest[:3], count, str(int(count) * int(least)), least, least]))
        elif word == "buckets" and rest[2] in kinds:
            if lines[-1].startswith("spans"):
                bucket = rest[3].partition(":")[0]
                lines.append(f"buckets {' '.join(rest[:3])} {bucket}:{lines[-1].split(' ')[4]}")
        else:
            lines.append(line)
    return "\n".join([*lines, ""])


def changed(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Callable[[str], str]:
    def change(text: str) -> str:
        result, times = re.subn(pattern, new, text, flags=re.MULTILINE)
        assert times
        assert result != text
        return result

    return change


def halved(found: re.Match[str]) -> str:
    return f"{found[1]}{int(found[2]) // 2}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed(r"^(spans latency \d+ inner) .*$", r"\1 0 0 0 0"), "clock.log:"),
        (changed(r"^(thread 0 \d+ \d+) (\d+)", r"\1 1\2"), "clock.log:|" + DISAGREE + "latency of thread"),
        (changed(r"^(saw work \d programs )(\d+)", halved), CONTRADICTED),
        (changed(r"^(saw work 0 programs )\d+", r"\g<1>900000000"), DISAGREE + "vCPU 0 in the work window"),
        (
            changed(r"^(saw work 0 spun) \d+\n|^(saw work 0 programs)", r"saw work 0 spun 900000000\n\2"),
            DISAGREE,
        ),
        (changed(r"^(returned work \d 1 )(\d+) \d+", r"\g<1>1 64"), "clock.log:|" + CONTRADICTED),
        (changed(r"^(exchanged work \d 0 )(\d+)", halved), "clock.log:"),
        (changed(r"^(counting work )(\d+)", halved), DISAGREE + "the work window is counted from"),
        (changed(r"^(saw total 0 worked )(\d+)", halved), DISAGREE),
        (changed(r"^(worked 1 )\w+$", lambda found: found[0].replace("f", "8")), DISAGREE + "vCPU 1 worked"),
        (changed(r"^(vcpu 1 time \d+ executed )(\d+)", lambda found: f"{found[1]}1000"), DISAGREE + "vCPU 1"),
        (changed(r"^host carrier \w+$", "host carrier ours"), "clock.log:.*a way is one of"),
        (changed(r"^host (tsc_\w+|\w+) (\d+)$", r"host \1 \2\nhost \1 1"), "clock.log:"),
    ],
)
def test_one_that_was_changed_is_refused(
    good: RawRun, tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    judged = edited(good, tmp_path, change(text_of(good)))
    assert not judged.verified
    assert re.search(said, judged.reason), judged.reason


@pytest.mark.parametrize("kinds", ["outer", "inner outer"])
def test_lengths_that_were_made_shorter_contradict_the_guest(
    good: RawRun, tmp_path: Path, kinds: str
) -> None:
    """Each histogram of the log agrees with itself."""
    changed_log = flattened(text_of(good), kinds)
    assert changed_log != text_of(good)
    judged = edited(good, tmp_path, changed_log)
    assert not judged.verified
    assert re.search("histogram latency|other spans between its reads", judged.reason), judged.reason
