"""tests.optional: one table decides what tests skip, what is said before they run, and what is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import optional
from tests.optional import Extra, Module, Program

ROOT = Path(__file__).parents[2]
ABSENT = Program("no-such-program", "one-package", "what it promises")
ELSEWHERE = Program("Server", "two-package", "what a server promises", names=("no-such-server",))
MODULE = Module("no_such_module", "three-package", "what a module promises")
PRESENT = Program("sh", "dash", "nothing")


@pytest.fixture
def asked() -> list[tuple[str, ...]]:
    return []


def install(table: Sequence[Extra], user: int, asked: list[tuple[str, ...]]) -> int:
    def run(words: Sequence[str]) -> int:
        asked.append(tuple(words))
        return 0

    return optional.install(table, user, run)


def test_each_missing_one_has_a_line_with_its_promise_and_the_command_is_named() -> None:
    *lines, last = optional.said((ABSENT, PRESENT, MODULE)).splitlines()
    program, module = lines
    assert re.search("no-such-program is not installed, .*: what it promises$", program)
    assert re.search("no_such_module is not installed, .*: what a module promises$", module)
    assert "./run tools-for-tests" in last
    assert optional.said((PRESENT,)) == ""


def test_a_program_is_found_under_another_name_and_outside_of_path(tmp_path: Path) -> None:
    (tmp_path / "15" / "bin").mkdir(parents=True)
    made = tmp_path / "15" / "bin" / "no-such-server"
    made.touch(mode=0o755)
    place = f"{tmp_path}/*/bin".removeprefix("/")
    program = Program("Server", "two-package", "", names=("other", "no-such-server"), places=(place,))
    assert (program.missing, program.path) == (False, str(made))
    assert ELSEWHERE.missing


def test_root_installs_each_missing_package_by_itself(asked: list[tuple[str, ...]]) -> None:
    assert install((ABSENT, PRESENT, ELSEWHERE, MODULE), 0, asked) == 0
    pip, update, one, two = asked
    assert pip[1:3] == ("-m", "pip")
    assert pip[-1] == "three-package"
    assert update[-1] == "update"
    assert (one[-1], two[-1]) == ("one-package", "two-package")


def test_another_user_sees_the_command_for_root(
    asked: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert install((ABSENT, ELSEWHERE), 1000, asked) == 4
    assert asked == []
    command = "apt-get update && apt-get install -y --no-install-recommends one-package two-package"
    assert f"\n    {command}\n" in capsys.readouterr().err


def test_with_everything_there_nothing_is_installed(asked: list[tuple[str, ...]]) -> None:
    assert install((PRESENT,), 1000, asked) == 0
    assert asked == []


@pytest.mark.parametrize(("words", "status"), [([], 0), (["install"], 4), (["everything"], 4)])
def test_what_is_still_missing_is_a_failure_of_the_installation_only(
    monkeypatch: pytest.MonkeyPatch, words: list[str], status: int
) -> None:
    monkeypatch.setattr(optional, "TABLE", (ABSENT,))
    monkeypatch.setattr(optional, "install", lambda *_: 0)
    assert optional.main(words) == status


@pytest.mark.parametrize("one", optional.TABLE, ids=lambda one: one.name)
def test_a_missing_one_skips_the_test_that_asks_for_it(monkeypatch: pytest.MonkeyPatch, one: Extra) -> None:
    monkeypatch.setattr(type(one), "missing", True)
    ask = optional.path if isinstance(one, Program) else optional.module
    with pytest.raises(pytest.skip.Exception, match=re.escape(one.unchecked)):
        ask(one.name)


def test_no_test_looks_for_a_program_in_another_way_and_each_of_the_table_has_a_test() -> None:
    """A program that a test takes from PATH itself would be skipped without being in the table."""
    asks = re.compile(r'optional\.(?:needs|path|program|module)\(\s*"([\w-]+)')
    used, others = set(), []
    folders = (ROOT / "tests", ROOT / "contrib", *ROOT.glob("src/benchgate/features/*/tests"))
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        used |= set(asks.findall(text))
        others += [file.name for _ in re.findall(r"(?:skipif\(|if )shutil\.which\(\"", text)]
    assert others == []
    assert {extra.name for extra in optional.TABLE} - used == set()
