"""Where a session's own files are: kept outside of its folder, and used only as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.files import file_digest
from benchgate.plan import catalog
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.session.rejudging import remembered, trust
from benchgate.session.rejudging.trust import TrustedPrograms
from tests.unit.factories import cell

ID = "20261126T010203Z-abc123"
YAML = "name: typed\nsource: none\noracle: oracle.py\n"
SYSTEM = """\
version: 1
name: mine
kind: qemu
boot: {kernel: mine.elf}
ask: prompt
prompt: '^\\$ $'
steps: [{send: 'sum', capture: '^sum=(?P<sum>\\d+)$'}]
console: {online: '^(?P<n>\\d+) CPUs$'}
result: {format: patterns, work: {from: '^begin$', to: '^end$'}}
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "typed.yaml").write_text(YAML)
    (tmp_path / "oracle.py").write_text("def check(params, reports, result, run): ...\n")
    (tmp_path / "mine.yaml").write_text(SYSTEM)
    (tmp_path / "mine.elf").write_text("")
    return tmp_path


def made(at: Path, name: str = ID) -> Path:
    """A session's folder, as its copy may be anywhere."""
    at.mkdir(parents=True)
    (at / "session.json").write_text(json.dumps({"id": name}))
    return at


def planned(files: Path) -> PlannedCell:
    system = catalog.load_system(str(files / "mine.yaml"))
    workload = catalog.load_workload(str(files / "typed.yaml"))
    return PlannedCell(cell(2, system="mine"), system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))


def kept(files: Path) -> Path:
    folder = made(files / "session")
    remembered.keep(folder, [planned(files)], trust.trusted([str(files / "typed.yaml")], [], []))
    return folder


def test_a_sessions_own_files_need_no_option(files: Path) -> None:
    trusted_programs, notes = remembered.trusted_of(kept(files), TrustedPrograms())
    assert [program.words for program in trusted_programs.programs] == [
        ("--workload", str(files / "typed.yaml"))
    ]
    assert remembered.system_of(files / "session", "mine") == (str(files / "mine.yaml"), ())
    assert notes == ()


def test_an_exploration_is_known_by_its_folder(files: Path) -> None:
    (files / "explored").mkdir()
    remembered.keep(files / "explored", [planned(files)])
    assert remembered.trusted_of(files / "explored", TrustedPrograms())[0].workloads.keys() == {"typed"}
    assert remembered.trusted_of(made(files / "other"), TrustedPrograms())[0] == TrustedPrograms()


@pytest.mark.parametrize("name", ["typed.yaml", "oracle.py"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_file_that_changed_is_named_and_not_used(files: Path, name: str, gone: bool) -> None:
    folder = kept(files)
    (files / name).unlink() if gone else (files / name).write_text(f"{YAML}about: other\n")
    programs, notes = remembered.trusted_of(folder, TrustedPrograms())
    assert programs == TrustedPrograms()
    said = f"{files / name} has changed since the session, or is gone, so --workload must name it again"
    assert notes == (said,)


def test_a_system_that_changed_is_named_and_not_used(files: Path) -> None:
    folder = kept(files)
    (files / "mine.yaml").write_text(f"{SYSTEM}about: other\n")
    word, (note,) = remembered.system_of(folder, "mine")
    assert word is None
    assert note.startswith(f"{files / 'mine.yaml'} has changed")


def test_nothing_is_used_because_a_bundle_names_it(files: Path) -> None:
    """It says the path and the true digest of a program that is here, and an id or a path for the memory."""
    oracle = files / "oracle.py"
    digest = file_digest(oracle)
    program = {"option": "--workload", "name": "typed", "path": str(files / "typed.yaml"), "sha256": digest}
    for number, name in enumerate((ID, "../../state/benchgate/sessions/x", str(oracle), "", 7)):
        folder = files / f"bundle{number}"
        folder.mkdir()
        facts = {"id": name, "programs": [program], "workloads": {"typed": str(files / "typed.yaml")}}
        (folder / "session.json").write_text(json.dumps(facts))
        assert remembered.trusted_of(folder, TrustedPrograms()) == (TrustedPrograms(), ())
        assert remembered.system_of(folder, "mine") == (None, ())


def test_a_program_that_the_caller_names_is_preferred(files: Path) -> None:
    other = files / "other"
    other.mkdir()
    for name in ("typed.yaml", "oracle.py"):
        (other / name).write_text((files / name).read_text())
    given = trust.trusted([str(other / "typed.yaml")], [], [])
    folder = kept(files)
    assert remembered.trusted_of(folder, given) == (given, ())


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"option": "--workload"}]', "[" * 100_000, "\xff"])
def test_a_damaged_memory_is_none(files: Path, state: Path, text: str) -> None:
    folder = kept(files)
    (place,) = state.glob("benchgate/sessions/*.json")
    place.write_bytes(text.encode("latin-1"))
    assert remembered.trusted_of(folder, TrustedPrograms()) == (TrustedPrograms(), ())


def test_a_place_that_cannot_be_written_ends_no_session(files: Path, state: Path) -> None:
    state.write_text("a file")
    assert remembered.trusted_of(kept(files), TrustedPrograms()) == (TrustedPrograms(), ())


def test_old_sessions_are_forgotten(files: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_SESSIONS", 2)
    for number in range(4):
        folder = made(files / f"s{number}", f"20261126T01020{number}Z-abc123")
        remembered.keep(folder, [planned(files)])
    assert len(list(state.glob("benchgate/sessions/*"))) == 2
