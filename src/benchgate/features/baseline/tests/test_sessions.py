"""Baselines through pytest and the command: accept, gate, keep as evidence, refuse what is not comparable."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchgate import cli
from benchgate.base.paths import data_root
from benchgate.evidence.chain import manifest_text
from benchgate.evidence.check import INTACT, MISMATCH, TAMPERED, UNKNOWN_VERSION, verify_session
from benchgate.evidence.files import MANIFEST, digest_of, files_below
from benchgate.features.baseline.feature import BASELINE
from benchgate.features.baseline.tests.baselines import forged, written
from benchgate.session.rejudging import rejudge
from tests.plugin.conftest import Rig

TESTS = """
import pytest

pytestmark = pytest.mark.smp

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.regression(at_most=1.1)
def test_regression(verdict):
    verdict.require_pass()

@pytest.mark.workload("primes", hi=10_000)
def test_right(cell):
    cell.require_verified()
"""
DEFAULT_FILE = BASELINE.default
BASE, SLOWER = (19_000_000, 10_000_000), (19_000_000, 12_000_000)


@pytest.fixture
def kept(rig: Rig) -> Path:
    """The baseline of a session at one and two CPUs, in the file that the mark names."""
    rig.pytester.makepyfile(test_scaling=TESTS)
    assert rig.run("-k", "right", "--smp=1,2").ret == 0
    assert cli.main(["baseline", "accept", str(rig.latest)]) == 0
    return rig.pytester.path / DEFAULT_FILE


def verdicts(rig: Rig) -> dict[int, dict[str, Any]]:
    """The verdicts of the regression gates, by CPU count."""
    result = json.loads((rig.latest / "verdicts.json").read_text())
    schema = json.loads((data_root() / "reports/schema/verdicts-2.json").read_text())
    jsonschema.validate(result, schema)
    return {one["cpus"]: one for one in result if one["gate"] == "regression"}


def measured(rig: Rig) -> dict[int, dict[str, Any]]:
    rig.run("-k", "regression", "--smp=1,2")
    return verdicts(rig)


def intact(folder: Path) -> None:
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == INTACT, check.text


def edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    file.write_text(forged(file.read_text(), change))


def reseal(folder: Path) -> None:
    names = [name for name in files_below(folder) if name != MANIFEST]
    (folder / MANIFEST).write_text(manifest_text({name: digest_of(folder, name) for name in names}))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert cli.main(words) == 4
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("benchgate: ")
    assert "Traceback" not in output.err
    return output.err


def test_a_session_is_gated_against_an_accepted_one(
    rig: Rig, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `cpus` there is a gate at each CPU count; the copy of the file is evidence."""
    words = ["baseline", "check", str(kept), str(rig.latest)]
    assert cli.main(words) == 0
    forged_file = kept.with_name("forged.json")
    shutil.copy(kept, forged_file)
    edit(forged_file, lambda found: found["cells"][1]["metrics"][0]["samples"].__setitem__(2, 10_000_001))
    capsys.readouterr()
    assert cli.main(["baseline", "check", str(forged_file), str(rig.latest)]) == 1
    assert "its figures of primes.hi-10000-fake-smp2 are not those of" in capsys.readouterr().out

    result = measured(rig)
    assert {cpus: value["outcome"] for cpus, value in result.items()} == {1: "PASS", 2: "PASS"}
    assert result[2]["ratio"] == 1
    assert (result[2]["baseline"], result[2]["base_cpus"]) == (DEFAULT_FILE, None)
    (copy,) = (rig.latest / "baselines").iterdir()
    assert copy.read_bytes() == kept.read_bytes()
    kept.unlink()
    intact(rig.latest)
    verify = ["verify", str(rig.latest), "--tests", "test_scaling.py"]
    capsys.readouterr()
    assert cli.main(verify) == 0
    assert "the thresholds of 2 gates are those of the tests" in capsys.readouterr().out
    tests = rig.pytester.path / "test_scaling.py"
    tests.write_text(TESTS.replace("at_most=1.1", "at_most=1.1, baseline='other.json'"))
    assert cli.main(verify) == 15
    assert f"at 2 CPUs compared with {DEFAULT_FILE}" in capsys.readouterr().out
    tests.write_text(TESTS)

    rig.consoles(SLOWER)
    shutil.copy(copy, kept)
    assert rig.run("-k", "regression", "--smp=1,2").ret == 1
    result = verdicts(rig)
    assert {cpus: value["outcome"] for cpus, value in result.items()} == {1: "PASS", 2: "FAIL"}
    assert result[2]["ratio"] == pytest.approx(1.2)
    intact(rig.latest)
    capsys.readouterr()
    assert cli.main(["baseline", "diff", str(kept), str(rig.latest)]) == 0
    said = capsys.readouterr().out
    assert "by digest: nothing has changed" in said
    assert "work    10,000,000 ns  12,000,000 ns  1.20 [1.20, 1.20]" in said
    run = next((rig.latest / "runs").glob("*-smp1"))
    assert cli.main(["baseline", "diff", str(kept), str(run)]) == 0
    alone = capsys.readouterr().out
    assert ("-smp1 (tcg)" in alone, "-smp2 (tcg)" in alone) == (True, False)


def test_figures_that_a_gate_refused_are_accepted_only_by_name(
    rig: Rig, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = kept.read_bytes()
    rig.consoles(SLOWER)
    assert rig.run("-k", "regression", "--smp=1,2").ret == 1
    accept = ("baseline", "accept", str(rig.latest))
    name = "primes.hi-10000-fake-smp2-regression"
    said = refused(capsys, *accept)
    assert f"; next: benchgate {' '.join(accept)} --despite {name}\n" in said, said
    assert "a gate refused figures of these rows (1 verdict): FAIL: primes" in said
    assert "the file has all of its cells" in refused(capsys, *accept, "--add")
    said = refused(capsys, *accept, "--despite", name, "--despite", "other")
    assert "other: no verdict with this id is FAIL or INVALID" in said
    assert f"those that are: {name}\n" in said
    assert kept.read_bytes() == good
    assert cli.main([*accept, "--despite", name]) == 0
    said = capsys.readouterr().out
    assert f"the file that was there is now {DEFAULT_FILE}.1" in said
    assert "accepted, although: FAIL: " in said
    assert kept.with_name("main.json.1").read_bytes() == good
    assert kept.read_bytes() != good
    assert cli.main(["baseline", "check", str(kept), str(rig.latest)]) == 0


def test_a_cell_that_the_baseline_lacks_is_added_and_no_other_is_touched(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 52: a gate without `cpus` asked for a cell that the baseline lacks, two others failed, and the
    tool's own advice put the slow figures in the place of the good ones."""
    rig.pytester.makepyfile(test_scaling=TESTS)
    assert rig.run("-k", "right", "--smp=2").ret == 0
    assert cli.main(["baseline", "accept", str(rig.latest)]) == 0
    kept, first = rig.pytester.path / DEFAULT_FILE, rig.latest.resolve()
    good = json.loads(kept.read_text())
    rig.consoles(SLOWER)
    result = rig.run("-k", "regression", "--smp=1,2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*FAIL: 1 of 2 verdicts, 1 INVALID*"])
    result.stdout.fnmatch_lines(
        [f"*does not have this cell; next: benchgate baseline accept * --add --out {DEFAULT_FILE}*"]
    )
    stored = json.loads((rig.latest / "verdicts.json").read_text())
    (advised,) = (one for of in stored for one in of["commands"] if " accept " in one)
    said = refused(capsys, "baseline", "accept", str(rig.latest))
    assert "-smp2-regression" in said
    assert "-smp1-regression" not in said
    said = refused(capsys, "baseline", "accept", str(rig.latest), "--add")
    assert "a gate refused figures of these rows (1 verdict): FAIL: primes" in said
    (slow,) = re.findall(r"--despite (\S+)", said)
    assert json.loads(kept.read_text()) == good
    assert advised.endswith(f" --despite {slow}")
    assert cli.main(shlex.split(advised.replace("SESSION", str(rig.latest)))[1:]) == 0
    said = capsys.readouterr().out
    assert "added to" in said
    assert "accepted, although: FAIL: primes" in said
    assert "next: benchgate" not in said, "its paths are below the session"
    assert "INVALID" not in said, "the cell that the baseline lacked is what was accepted"
    now = json.loads(kept.read_text())
    assert [one["cell"]["cpus"] for one in now["cells"]] == [2, 1]
    assert now["cells"][0] == good["cells"][0]
    assert now["added"][0]["cells"] == ["primes.hi-10000-fake-smp1"]
    schema = json.loads((data_root() / "reports/schema/baseline-1.json").read_text())
    jsonschema.validate(now, schema)
    for folder in (first, rig.latest):
        assert cli.main(["baseline", "check", str(kept), str(folder)]) == 0, capsys.readouterr().out
    edit(kept, lambda found: found["cells"][1]["metrics"][0]["samples"].__setitem__(2, 10_000_001))
    assert cli.main(["baseline", "check", str(kept), str(rig.latest)]) == 1
    assert cli.main(["baseline", "check", str(kept), str(first)]) == 0


def test_a_session_whose_reports_an_older_version_worded_is_accepted_and_no_other(
    rig: Rig, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a release with another page, last week's session was refused, whose figures had not changed."""
    folder = rig.latest.resolve()
    facts = json.loads((folder / "session.json").read_text())
    (folder / "session.json").write_text(json.dumps(facts | {"source": "0" * 64}))
    (folder / "summary.md").write_text("worded differently\n")
    reseal(folder)
    assert verify_session(folder, rejudge.recompute).exit_code == UNKNOWN_VERSION
    assert cli.main(["baseline", "accept", str(folder)]) == 0
    assert cli.main(["baseline", "diff", str(kept), str(folder)]) == 0
    results = folder / "results.csv"
    results.write_text(results.read_text().replace("10000000", "10000001"))
    reseal(folder)
    assert "results.csv does not follow from the runs" in refused(capsys, "baseline", "accept", str(folder))


def test_a_session_that_lacks_cells_of_the_baseline_does_not_replace_it(
    rig: Rig, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was refused by a gate, and the figures of all other cells would have been gone."""
    before = kept.read_text()
    assert rig.run("-k", "right", "--smp=1").ret == 0
    said = refused(capsys, "baseline", "accept", str(rig.latest))
    assert "has cells that" in said
    assert "primes.hi-10000-fake-smp2 (tcg)" in said
    assert kept.read_text() == before


def test_an_edited_copy_in_the_session_never_changes_a_verdict_unseen(rig: Rig, kept: Path) -> None:
    rig.consoles(SLOWER)
    assert measured(rig)[2]["outcome"] == "FAIL"
    (copy,) = (rig.latest / "baselines").iterdir()
    text = copy.read_text()
    assert "10000000" in text
    edit(copy, lambda found: found["cells"][1]["metrics"][0].update(samples=[12_000_000] * 5))
    check = verify_session(rig.latest, rejudge.recompute)
    assert (check.exit_code, f"{copy.name} was changed" in check.text) == (TAMPERED, True)
    reseal(rig.latest.resolve())
    check = verify_session(rig.latest, rejudge.recompute)
    assert check.exit_code == MISMATCH
    assert "is not the baseline with which the session compared" in check.text
    session = rig.latest / "session.json"
    facts = json.loads(session.read_text())
    other = digest_of(rig.latest, f"baselines/{copy.name}")
    copy.rename(copy.with_name(f"{other}.json"))
    session.write_text(json.dumps({**facts, "baselines": {DEFAULT_FILE: other}}))
    reseal(rig.latest.resolve())
    check = verify_session(rig.latest, rejudge.recompute)
    assert (check.exit_code, "verdicts.json does not follow" in check.text) == (MISMATCH, True)


def test_without_a_baseline_nothing_passes_and_the_session_can_be_accepted(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    rig.pytester.makepyfile(test_scaling=TESTS)
    result = rig.run("--smp=1,2")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*INVALID: *-smp2/baseline: there is no baseline {DEFAULT_FILE}; next: *"])
    intact(rig.latest)
    capsys.readouterr()
    assert cli.main(["baseline", "accept", str(rig.latest)]) == 0
    said = capsys.readouterr().out
    assert f"wrote {DEFAULT_FILE}" in said
    assert "accepted, although" not in said, "that there was no baseline is what it is accepted for"
    assert {value["outcome"] for value in measured(rig).values()} == {"PASS"}


def test_lies_in_a_baseline_are_named_and_never_pass(rig: Rig, kept: Path) -> None:
    """One session decides a gate for each: a file of another machine, of another lane, without a cell, with
    another unit. The runs are the same for all."""

    def lane(found: dict[str, Any]) -> None:
        for one in found["cells"]:
            one["lane"] = "insn"

    def unit(found: dict[str, Any]) -> None:
        for one in found["cells"]:
            for metric in one["metrics"]:
                metric["unit"] = "cycles"

    lies: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
        "machine": (lambda f: f["machine"].update(cpu_model="Other"), "another cpu_model: Other there, "),
        "lane": (lane, "another lane: insn there, tcg here"),
        "cell": (lambda f: f["cells"].pop(), "does not have this cell"),
        "unit": (unit, "another unit: cycles there, ns here"),
        "qemu": (lambda f: f["systems"]["fake"].update(qemu="0" * 64), f"QEMU (digest): {'0' * 64} there"),
    }
    marks = []
    for name, (change, _) in lies.items():
        shutil.copy(kept, kept.with_name(f"{name}.json"))
        edit(kept.with_name(f"{name}.json"), change)
        marks.append(
            f"@pytest.mark.workload('primes', hi=10_000)\n"
            f"@pytest.mark.regression(at_most=1.1, cpus=2, baseline='reports/baselines/{name}.json')\n"
            f"def test_{name}(verdict):\n    verdict.require_pass()\n"
        )
    rig.pytester.makepyfile(test_scaling="import pytest\npytestmark = pytest.mark.smp\n" + "\n".join(marks))
    result = rig.run("--smp=1,2")
    result.assert_outcomes(failed=len(lies))
    found = json.loads((rig.latest / "verdicts.json").read_text())
    assert len(found) == len(lies)
    for name, (_, said) in lies.items():
        (one,) = [one for one in found if one["baseline"].endswith(f"/{name}.json")]
        assert (one["outcome"], said in one["reason"]) == ("INVALID", True), one["reason"]
    intact(rig.latest)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "*main.json is not a baseline: the file has no format; next: *"),
        (written().replace("100", "101", 1), "*changed by hand*"),
    ],
)
def test_a_file_that_is_no_baseline_stops_the_collection(rig: Rig, text: str, said: str) -> None:
    rig.pytester.makepyfile(test_scaling=TESTS)
    (rig.pytester.path / DEFAULT_FILE).parent.mkdir(parents=True)
    (rig.pytester.path / DEFAULT_FILE).write_text(text)
    result = rig.run("-k", "regression")
    assert result.ret != 0
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("regression(cpus=2)", "*mark regression: the argument `at_most` is missing*"),
        ("regression(at_least=1.0)", "*mark regression: no argument `at_least`*"),
        ("regression(at_most=0.9)", "*at_most=0.9 would fail on figures that are equal*"),
        ("regression(at_most=float('nan'))", "*at_most=nan is not a ratio above 0*"),
        ("regression(at_most=1.1, baseline='main.yaml')", "*baseline='main.yaml' is not the path*"),
        ("regression(at_most=1.1, metric='speed')", "*metric='speed' is not one of the metrics*"),
        ("regression(1.1)", "*use keyword arguments, as in regression(at_most=1.02)*"),
    ],
)
def test_a_mistake_in_the_mark_is_one_sentence(rig: Rig, mark: str, said: str) -> None:
    rig.pytester.makepyfile(test_scaling=TESTS.replace("regression(at_most=1.1)", mark))
    rig.run("--collect-only").stdout.fnmatch_lines([said])


def test_the_plan_says_which_baseline_and_whether_it_exists(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=TESTS)
    rig.run("--plan", "--smp=2", "-k", "regression").stdout.fnmatch_lines(
        [f"*: regression of work to the baseline {DEFAULT_FILE}, which does not exist, at most 1.1"]
    )


# ---- accept, check and diff


def test_what_is_no_finished_and_intact_session_is_not_accepted(
    rig: Rig, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kept.read_bytes()
    folder = rig.latest.resolve()
    accept = ("baseline", "accept", str(rig.latest))
    with (folder / "results.csv").open("a") as stream:
        stream.write("\n")
    assert "results.csv was changed after the session was sealed" in refused(capsys, *accept)
    (folder / MANIFEST).unlink()
    assert "the session was never sealed" in refused(capsys, *accept)
    assert "is not a folder" in refused(capsys, "baseline", "accept", "nowhere")

    rig.run("--quick", "-k", "right")
    assert "--quick decides nothing" in refused(capsys, *accept)
    rig.run("--runs=1", "-k", "right", "--smp=1,2")
    assert "is too few to decide anything" in refused(capsys, *accept)
    rig.consoles(BASE, wrong_worker=0)
    rig.run("-k", "right", "--smp=1,2")
    said = refused(capsys, *accept)
    assert "a session with an INVALID verdict is no baseline: INVALID: " in said
    (log,) = re.findall(r"read (\S+/serial\.log) first", said)
    assert Path(log).is_file()  # from here, not from the session's folder
    assert kept.read_bytes() == before
