"""Hundreds of seeded tries to change a session: each is found, with its own exit status.

Nothing boots. A try is either a clumsy one, which leaves the hashes as they are, or that of a forger who
makes manifest, chain and every report again, with benchgate itself, and leaves only what the guests printed.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from benchgate.evidence.check import INCOMPLETE, MISMATCH, TAMPERED, UNKNOWN_VERSION, verify_session
from benchgate.evidence.files import ATTEMPTS, MANIFEST, SESSION, files_below
from benchgate.evidence.session_folder import RESULTS
from benchgate.session.rejudging import rejudge
from tests import forgerykit
from tests.answerkit import kept_oracle
from tests.forgerykit import edit_json, renumber, run_folders

FLIPS = 300
SEEDS = range(3)
RAW_LOGS = ("serial.log",)


@pytest.fixture(scope="module", autouse=True)
def one_oracle() -> Iterator[None]:
    with kept_oracle(rejudge):
        yield


@pytest.fixture(scope="module")
def originals(one_oracle: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two sessions with the same cells, made one after the other."""
    reports = tmp_path_factory.mktemp("reports")
    return forgerykit.made(reports, "aaaaaa"), forgerykit.made(reports, "bbbbbb")


@pytest.fixture
def folder(originals: tuple[Path, Path], tmp_path: Path) -> Path:
    return forgerykit.copied(originals[0], tmp_path)


def judged(folder: Path) -> tuple[int, str]:
    check = verify_session(folder, rejudge.recompute)
    return check.exit_code, check.text


def never(_: Path) -> Mapping[str, str]:
    raise AssertionError("a session whose hashes do not agree must not be judged")


def test_the_sessions_are_intact_and_their_gate_passes(originals: tuple[Path, Path]) -> None:
    for folder in originals:
        code, said = judged(folder)
        assert code == 0, said
        assert json.loads((folder / "verdicts.json").read_text())[0]["outcome"] == "PASS"


# ---- clumsy changes: the hashes stay as they were


def test_a_flipped_byte_is_found_in_any_file(folder: Path) -> None:
    names = [name for name in files_below(folder) if (folder / name).stat().st_size]
    draw = random.Random(1)
    seen: set[str] = set()
    for number in range(FLIPS):
        name = names[number % len(names)] if number < len(names) else draw.choice(names)
        data = (folder / name).read_bytes()
        at = draw.randrange(len(data))
        changed = bytes([data[at] ^ draw.randrange(1, 256)])
        (folder / name).write_bytes(data[:at] + changed + data[at + 1 :])
        check = verify_session(folder, never)
        allowed = {TAMPERED, UNKNOWN_VERSION} if name == SESSION else {TAMPERED}
        assert check.exit_code in allowed, (
            f"try {number}: {name}, byte {at} {data[at]} {changed!r}: {check.text}"
        )
        (folder / name).write_bytes(data)
        seen.add(Path(name).name)
    assert {"serial.log", "run.json", "argv.json", MANIFEST, ATTEMPTS, SESSION, RESULTS} <= seen
    assert judged(folder)[0] == 0


def drop_run(folder: Path, draw: random.Random, _: Path) -> None:
    shutil.rmtree(draw.choice(run_folders(folder)))


def drop_file(folder: Path, draw: random.Random, _: Path) -> None:
    (folder / draw.choice(files_below(folder))).unlink()


def add_run(folder: Path, draw: random.Random, _: Path) -> None:
    run = draw.choice(run_folders(folder))
    shutil.copytree(run, run.with_name(f"0099-{run.name[5:]}"))


def add_file(folder: Path, draw: random.Random, _: Path) -> None:
    (
        folder / draw.choice(["more.md", "runs/more.log", f"runs/{run_folders(folder)[3].name}/more"])
    ).write_text("")


def add_empty_folder(folder: Path, draw: random.Random, _: Path) -> None:
    (folder / draw.choice(["PASS", "runs/PASS", f"runs/{run_folders(folder)[3].name}/PASS"])).mkdir()


def exchange_runs(folder: Path, draw: random.Random, _: Path) -> None:
    one, two = draw.sample(run_folders(folder), 2)
    one.rename(folder / "aside")
    two.rename(one)
    (folder / "aside").rename(two)


def exchange_files(folder: Path, draw: random.Random, _: Path) -> None:
    name = draw.choice(["serial.log", "run.json", "argv.json"])
    one, two = (run / name for run in draw.sample(run_folders(folder), 2))
    text = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(text)


def run_of_another_session(folder: Path, draw: random.Random, other: Path) -> None:
    run = draw.choice(run_folders(folder))
    shutil.rmtree(run)
    shutil.copytree(other / "runs" / run.name, run)


def file_of_another_session(folder: Path, draw: random.Random, other: Path) -> None:
    same = [
        name for name in files_below(folder) if (folder / name).read_bytes() != (other / name).read_bytes()
    ]
    name = draw.choice(same)
    shutil.copy(other / name, folder / name)


def drop_line(folder: Path, draw: random.Random, _: Path) -> None:
    path = folder / draw.choice([ATTEMPTS, MANIFEST, RESULTS, "metrics.csv"])
    lines = path.read_text().splitlines(keepends=True)
    del lines[draw.randrange(len(lines))]
    path.write_text("".join(lines))


def exchange_lines(folder: Path, draw: random.Random, _: Path) -> None:
    path = folder / draw.choice([ATTEMPTS, MANIFEST, RESULTS, "metrics.csv"])
    lines = path.read_text().splitlines(keepends=True)
    one, two = draw.sample(range(len(lines)), 2)
    lines[one], lines[two] = lines[two], lines[one]
    path.write_text("".join(lines))


CLUMSY = (
    drop_run,
    drop_file,
    add_run,
    add_file,
    add_empty_folder,
    exchange_runs,
    exchange_files,
    run_of_another_session,
    file_of_another_session,
    drop_line,
    exchange_lines,
)
Change = Callable[[Path, random.Random, Path], None]


@pytest.mark.parametrize("change", CLUMSY)
def test_a_clumsy_change_is_found(originals: tuple[Path, Path], tmp_path: Path, change: Change) -> None:
    for seed in range(12):
        folder = forgerykit.copied(originals[0], tmp_path / str(seed))
        change(folder, random.Random(seed), originals[1])
        check = verify_session(folder, never)
        assert check.exit_code in {TAMPERED, INCOMPLETE}, f"seed {seed}: {check.text}"


# ---- a forger's changes: manifest, chain and reports are made again


def forged_exchange(folder: Path, draw: random.Random, _: Path) -> None:
    one, two = draw.sample(run_folders(folder), 2)
    first, second = int(one.name[:4]), int(two.name[:4])
    renumber(one, 9999)
    renumber(two, first)
    renumber(folder / "runs" / f"9999-{one.name[5:]}", second)
    forgerykit.renumber_all(folder)


def forged_removal(folder: Path, draw: random.Random, _: Path) -> None:
    """A run that is not the last of all goes, and the later ones move up."""
    shutil.rmtree(draw.choice(run_folders(folder)[:-1]))
    forgerykit.renumber_all(folder)


def forged_end(folder: Path, draw: random.Random, _: Path) -> None:
    """The last runs of all go, as if the session had ended before."""
    for run in run_folders(folder)[-draw.randrange(1, 9) :]:
        shutil.rmtree(run)


def forged_copy(folder: Path, draw: random.Random, _: Path) -> None:
    """A good run is counted twice."""
    runs = run_folders(folder)
    run = draw.choice(runs[2:])
    copy = Path(shutil.copytree(run, folder / "runs" / f"9999-{run.name[5:]}"))
    renumber(copy, len(runs) + 1)
    forgerykit.renumber_all(folder)


def forged_replacement(folder: Path, draw: random.Random, other: Path) -> None:
    """A run of another session of the same cells, in its own place."""
    run_of_another_session(folder, draw, other)


def forged_addition(folder: Path, draw: random.Random, other: Path) -> None:
    """A run of another session, after the last one."""
    runs = run_folders(folder)
    run = draw.choice(run_folders(other)[2:])
    copy = Path(shutil.copytree(run, folder / "runs" / f"9999-{run.name[5:]}"))
    renumber(copy, len(runs) + 1)
    forgerykit.renumber_all(folder)


def forged_warmup(folder: Path, draw: random.Random, _: Path) -> None:
    """A slow run is called a warm-up."""
    edit_json(draw.choice(run_folders(folder)[2:]) / "run.json", lambda record: record.update(warmup=True))
    forgerykit.renumber_all(folder)


def forged_counted_warmup(folder: Path, draw: random.Random, _: Path) -> None:
    """A warm-up counts, where that changes the ratio as the forger likes."""
    edit_json(draw.choice(run_folders(folder)[:2]) / "run.json", lambda record: record.update(warmup=False))


def forged_guest(folder: Path, _: random.Random, __: Path) -> None:
    """Another kernel is said to have run."""
    for run in run_folders(folder):
        edit_json(run / "run.json", lambda record: record.update(guest_digest="d" * 64))


def forged_seed(folder: Path, draw: random.Random, _: Path) -> None:
    edit_json(draw.choice(run_folders(folder)) / "run.json", lambda record: record.update(seed=7))


def forged_order(folder: Path, draw: random.Random, _: Path) -> None:
    edit_json(draw.choice(run_folders(folder)) / "run.json", lambda record: record.update(order=70))


def forged_nonce(folder: Path, draw: random.Random, _: Path) -> None:
    """The record fits the session, but not the console of the run."""
    run = draw.choice(run_folders(folder))
    edit_json(run / "run.json", lambda record: record.update(nonce="0123456789abcdef"))


FORGED = (
    forged_exchange,
    forged_removal,
    forged_end,
    forged_copy,
    forged_replacement,
    forged_addition,
    forged_warmup,
    forged_counted_warmup,
    forged_guest,
    forged_seed,
    forged_order,
    forged_nonce,
)


@pytest.mark.parametrize("change", FORGED)
def test_a_forgery_that_hashes_cannot_find_is_a_mismatch(
    originals: tuple[Path, Path], tmp_path: Path, change: Change
) -> None:
    for seed in SEEDS:
        folder = forgerykit.copied(originals[0], tmp_path / str(seed))
        change(folder, random.Random(seed), originals[1])
        forgerykit.forge(folder)
        code, said = judged(folder)
        assert code == MISMATCH, f"seed {seed}: {said}"
        assert "mismatch: " in said


def figures(folder: Path) -> list[str]:
    """The work and total windows in results.csv."""
    rows = [line.split(",") for line in (folder / RESULTS).read_text().splitlines()[1:]]
    return [cell for row in rows for cell in (row[13], row[14])]


@pytest.mark.parametrize("seed", range(12))
def test_a_figure_changed_everywhere_but_in_the_raw_log_is_a_mismatch(folder: Path, seed: int) -> None:
    draw = random.Random(seed)
    old = draw.choice(figures(folder))
    new = str(int(old) + draw.choice([-1, 1]) * draw.randrange(1, int(old) // 3))
    assert forgerykit.replaced_everywhere(folder, old, new, RAW_LOGS) >= 2
    forgerykit.chain_again(folder)
    forgerykit.seal_again(folder)
    code, said = judged(folder)
    assert code == MISMATCH, said
    assert f"{RESULTS} does not follow from the runs" in said


@pytest.mark.parametrize("field", ["ratio", "low", "high", "threshold", "runs"])
def test_a_figure_of_the_verdict_changed_everywhere_is_a_mismatch(folder: Path, field: str) -> None:
    verdicts = json.loads((folder / "verdicts.json").read_text())
    verdicts[0][field] = verdicts[0][field] + 1
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=2) + "\n")
    forgerykit.chain_again(folder)
    forgerykit.seal_again(folder)
    code, said = judged(folder)
    assert code == MISMATCH
    assert "verdicts.json does not follow from the runs" in said


def test_the_forger_is_good_enough(originals: tuple[Path, Path], tmp_path: Path) -> None:
    """What the forger makes again without a change is intact: the tests above fail for the change alone."""
    folder = forgerykit.copied(originals[0], tmp_path)
    assert forgerykit.report_again(folder)
    forgerykit.forge(folder)
    assert judged(folder)[0] == 0


def test_a_session_that_does_not_say_its_rules_is_still_judged(folder: Path) -> None:
    """One of an earlier version, whose nonces were random."""
    edit_json(folder / SESSION, lambda facts: facts.pop("binding"))
    for number, run in enumerate(run_folders(folder)):
        edit_json(run / "run.json", lambda record, seed=number: record.update(seed=seed))  # type: ignore[misc]
    forgerykit.forge(folder)
    assert judged(folder)[0] == 0


def test_a_copied_run_is_found_in_a_session_of_an_earlier_version(folder: Path) -> None:
    edit_json(folder / SESSION, lambda facts: facts.pop("binding"))
    forged_copy(folder, random.Random(3), folder)
    forgerykit.forge(folder)
    code, said = judged(folder)
    assert code == MISMATCH
    assert "another run has its nonce" in said


@pytest.mark.parametrize("value", [2, 0, True, "1", None])
def test_unknown_rules_are_a_mismatch(folder: Path, value: object) -> None:
    edit_json(folder / SESSION, lambda facts: facts.update(binding=value))
    forgerykit.forge(folder)
    code, said = judged(folder)
    assert code == MISMATCH
    assert "binding is" in said
