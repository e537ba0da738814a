"""tests/unit mirrors src/benchgate: ROOM/test_NAME.py tests ROOM/NAME.py, the C file or the package NAME."""

from __future__ import annotations

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
