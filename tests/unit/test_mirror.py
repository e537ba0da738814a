"""tests/unit mirrors src/benchgate: ROOM/test_NAME.py tests ROOM/NAME.py, the C file or the package NAME.
A test module in a folder that is no package has a name of its own, else pytest stops at the second."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import benchgate

HERE = Path(__file__).parent
SOURCES = Path(benchgate.__file__).parent


def has_source(test: Path) -> bool:
    source = SOURCES / test.parent / test.stem.removeprefix("test_")
    return source.is_dir() or any(source.with_suffix(suffix).is_file() for suffix in (".py", ".c"))


def test_every_test_module_of_a_room_has_its_source() -> None:
    rooms = [path.name for path in SOURCES.iterdir() if path.is_dir()]
    tests = [path.relative_to(HERE) for room in rooms for path in HERE.glob(f"{room}/**/test_*.py")]
    assert len(tests) > 50
    assert [str(test) for test in sorted(tests) if not has_source(test)] == []


def test_a_test_module_without_a_source_is_found() -> None:
    assert has_source(Path("host/test_fitness.py"))
    assert not has_source(Path("session/test_fitness.py"))


def taken_twice(tests: Path) -> list[str]:
    found = [path for path in tests.rglob("test_*.py") if not path.with_name("__init__.py").exists()]
    return [name for name, times in Counter(path.name for path in found).items() if times > 1]


def test_no_two_test_modules_outside_of_packages_have_one_name(tmp_path: Path) -> None:
    assert taken_twice(HERE.parent) == []
    for folder in ("smp", "threads"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_weak.py").touch()
    assert taken_twice(tmp_path) == ["test_weak.py"]
