"""The cache: made once, whole or not at all, never removed while in use."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchgate import cache, shelf, trim
from benchgate.errors import BuildError, HostError

KEY = {"source": "abc"}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "the cache"
    monkeypatch.setenv("BENCHGATE_CACHE", str(folder))
    return folder


@pytest.fixture
def other() -> Iterator[list[subprocess.Popen[str]]]:
    """Sessions of somebody else; none outlives the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def session(started: list[subprocess.Popen[str]], body: str) -> subprocess.Popen[str]:
    script = f"import os, sys, time\nfrom pathlib import Path\nfrom benchgate import cache\n{body}"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(cache.__file__).parents[1])},
    )
    started.append(process)
    return process


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def write_hello(files: Path) -> None:
    (files / "deep").mkdir()
    (files / "deep" / "hello").write_text("hello\n")


def must_not_make(files: Path) -> None:
    raise AssertionError(f"made again: {files}")


class TestRoot:
    def test_own_variable_comes_first(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
        assert shelf.cache_root() == root

    def test_then_the_desktop_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("BENCHGATE_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
        assert shelf.cache_root() == Path("/elsewhere/benchgate")

    @pytest.mark.parametrize("value", ["", "relative/path"])
    def test_then_the_home_folder(self, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        monkeypatch.delenv("BENCHGATE_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("HOME", "/somebody")
        assert shelf.cache_root() == Path("/somebody/.cache/benchgate")


class TestEntry:
    def test_is_made_once(self) -> None:
        first = cache.entry("guest", KEY, write_hello)
        assert (first / "deep" / "hello").read_text() == "hello\n"
        assert cache.entry("guest", KEY, must_not_make) == first

    def test_another_key_or_kind_is_another_folder(self) -> None:
        places = {
            cache.entry("guest", KEY, write_hello),
            cache.entry("guest", {"source": "abd"}, write_hello),
            cache.entry("kernel", KEY, write_hello),
        }
        assert len(places) == 3

    def test_the_order_of_the_key_says_nothing(self) -> None:
        first = cache.entry("guest", {"a": "1", "b": "2"}, write_hello)
        assert cache.entry("guest", {"b": "2", "a": "1"}, must_not_make) == first

    @pytest.mark.parametrize("kind", ["", "../guest", "a/b", "Guest"])
    def test_a_kind_that_is_no_plain_word_is_a_defect(self, kind: str) -> None:
        with pytest.raises(ValueError, match="plain word"):
            cache.entry(kind, KEY, write_hello)

    def test_a_failed_make_leaves_nothing(self, root: Path) -> None:
        def fail(files: Path) -> None:
            write_hello(files)
            raise BuildError("no compiler")

        with pytest.raises(BuildError, match="no compiler"):
            cache.entry("guest", KEY, fail)
        assert list((root / "guest").iterdir()) == []
        assert (cache.entry("guest", KEY, write_hello) / "deep" / "hello").is_file()

    def test_a_session_killed_while_making_leaves_nothing_that_is_used(
        self, root: Path, other: list[subprocess.Popen[str]]
    ) -> None:
        maker = session(
            other,
            "def make(files):\n    (files / 'hello').write_text('half')\n"
            "    print('half', flush=True)\n    time.sleep(60)\n"
            "cache.entry('guest', {'source': 'abc'}, make)",
        )
        assert said(maker) == "half"
        maker.send_signal(signal.SIGKILL)
        maker.wait(10)
        assert len(list((root / "guest").glob("*.tmp"))) == 1
        files = cache.entry("guest", KEY, write_hello)
        assert sorted(path.name for path in files.iterdir()) == ["deep"]
        assert [path.name for path in (root / "guest").iterdir()] == [files.parent.name]

    @pytest.mark.parametrize(
        "damage", ["shorter", "missing", "more", "no record", "bad record", "wrong type"]
    )
    def test_a_damaged_folder_is_made_again(self, damage: str) -> None:
        files = cache.entry("guest", KEY, write_hello)
        hello, record = files / "deep" / "hello", files.parent / "record.json"
        if damage == "shorter":
            hello.write_text("hell")
        elif damage == "missing":
            hello.unlink()
        elif damage == "more":
            (files / "extra").touch()
        elif damage == "no record":
            record.unlink()
        else:
            record.write_text("{" if damage == "bad record" else '["format"]')
        again = cache.entry("guest", KEY, write_hello)
        assert again == files
        assert (again / "deep" / "hello").read_text() == "hello\n"
        assert not (again / "extra").exists()

    def test_two_sessions_make_it_once(self, tmp_path: Path, other: list[subprocess.Popen[str]]) -> None:
        body = (
            "def make(files):\n"
            f"    with open({str(tmp_path / 'log')!r}, 'a') as log: log.write('made\\n')\n"
            "    time.sleep(0.3)\n    (files / 'hello').write_text('hello')\n"
            "sys.stdin.readline()\n"
            "print((cache.entry('guest', {'source': 'abc'}, make) / 'hello').read_text(), flush=True)"
        )
        sessions = [session(other, body) for _ in range(4)]
        for one in sessions:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        assert [said(one) for one in sessions] == ["hello"] * 4
        assert (tmp_path / "log").read_text() == "made\n"

    def test_waiting_has_a_deadline_and_names_the_maker(self, other: list[subprocess.Popen[str]]) -> None:
        maker = session(
            other,
            "def make(files):\n    print('half', flush=True)\n    time.sleep(60)\n"
            "cache.entry('guest', {'source': 'abc'}, make)",
        )
        assert said(maker) == "half"
        told: list[str] = []
        with pytest.raises(HostError, match=rf"process {maker.pid} has been making .* for more than"):
            cache.entry("guest", KEY, must_not_make, wait_s=0.2, notice=told.append)
        assert len(told) == 1
        assert f"waiting for process {maker.pid}" in told[0]


class TestStorage:
    def test_a_root_that_is_a_file_is_said(self, root: Path) -> None:
        root.write_text("in the way")
        with pytest.raises(HostError, match=r"the cache folder cannot be used: .*BENCHGATE_CACHE"):
            cache.entry("guest", KEY, write_hello)

    @pytest.mark.parametrize(
        "place", ["/proc/nosuch", "/proc/nosuch/deep/down", "/sys/nosuch/deep", f"/tmp/{'x' * 300}"]
    )
    def test_a_root_that_cannot_be_made_is_said(self, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
        monkeypatch.setenv("BENCHGATE_CACHE", place)
        with pytest.raises(HostError, match=r"the cache folder cannot be used: .*BENCHGATE_CACHE"):
            cache.entry("guest", KEY, write_hello)

    def test_a_file_that_a_build_did_not_make_is_not_blamed_on_the_cache(self) -> None:
        def forget(files: Path) -> None:
            (files / "never made").read_text()

        with pytest.raises(FileNotFoundError, match="never made"):
            cache.entry("guest", KEY, forget)

    @pytest.mark.parametrize("look", [trim.listing, trim.collect])
    def test_a_root_that_is_a_file_holds_no_list(self, root: Path, look: Callable[[], object]) -> None:
        root.write_text("in the way")
        with pytest.raises(HostError, match=r"the cache .* is no folder: set BENCHGATE_CACHE"):
            look()

    def test_a_full_disk_is_said_and_leaves_nothing(self, root: Path) -> None:
        def fill(files: Path) -> None:
            write_hello(files)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with pytest.raises(HostError, match="No space left on device"):
            cache.entry("guest", KEY, fill)
        assert list((root / "guest").iterdir()) == []

    def test_a_refused_cache_folder_is_said(self) -> None:
        def refuse(files: Path) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(files / "hello"))

        with pytest.raises(HostError, match=r"Permission denied; make room or set BENCHGATE_CACHE"):
            cache.entry("guest", KEY, refuse)

    def test_a_refused_source_is_not_blamed_on_the_cache(self, tmp_path: Path) -> None:
        def refuse(_files: Path) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path / "source.c"))

        with pytest.raises(PermissionError):
            cache.entry("guest", KEY, refuse)


class TestCollect:
    def make(self, name: str, size: int, age_s: float, now_s: float) -> Path:
        def fill(files: Path) -> None:
            (files / "data").write_bytes(b"x" * size)

        files = cache.entry("guest", {"name": name}, fill)
        used = now_s - age_s
        os.utime(files.parent / "record.json", (used, used))
        return files.parent

    def release(self) -> None:
        """What the end of this process does: no folder is in use any more."""
        while cache._held:
            os.close(cache._held.popitem()[1])

    def test_an_empty_cache_lists_and_collects_nothing(self) -> None:
        assert trim.listing() == ()
        assert trim.collect(keep_bytes=0, max_unused_s=0) == ()

    def test_the_list_says_what_when_and_how_much(self) -> None:
        before = time.time()
        cache.entry("guest", KEY, write_hello)
        (one,) = trim.listing()
        assert (one.kind, dict(one.key), one.in_use) == ("guest", KEY, True)
        assert before - 1 <= one.made_s <= time.time()
        assert before - 1 <= one.used_s <= time.time() + 1
        assert one.size_bytes > len("hello\n")

    def test_the_longest_unused_goes_first_until_it_fits(self) -> None:
        now = time.time()
        old, middle, new = (
            self.make(name, 10_000, age, now) for name, age in (("a", 300), ("b", 200), ("c", 100))
        )
        self.release()
        gone = trim.collect(keep_bytes=25_000)
        assert [one.folder for one in gone] == [old]
        assert (middle.is_dir(), new.is_dir(), old.exists()) == (True, True, False)

    def test_age_counts_from_the_last_use(self) -> None:
        now = time.time()
        old = self.make("a", 10, 1000, now)
        used = self.make("b", 10, 1000, now)
        cache.entry("guest", {"name": "b"}, must_not_make)
        self.release()
        assert [one.folder for one in trim.collect(max_unused_s=500)] == [old]
        assert used.is_dir()

    def test_a_folder_in_use_here_stays(self) -> None:
        folder = self.make("a", 10, 1000, time.time())
        assert trim.collect(keep_bytes=0, max_unused_s=0) == ()
        assert folder.is_dir()

    def test_a_folder_in_use_by_another_session_stays(self, other: list[subprocess.Popen[str]]) -> None:
        folder = self.make("a", 10, 1000, time.time())
        self.release()
        user = session(
            other,
            "cache.entry('guest', {'name': 'a'}, None)\nprint('using', flush=True)\nsys.stdin.readline()",
        )
        assert said(user) == "using"
        assert trim.collect(keep_bytes=0, max_unused_s=0) == ()
        assert trim.listing()[0].in_use
        user.kill()
        user.wait(10)
        assert [one.folder for one in trim.collect(keep_bytes=0)] == [folder]

    def test_what_a_killed_session_left_is_removed(self, root: Path) -> None:
        digest = "0123456789abcdef" * 2
        (root / "guest" / f"{digest}.tmp" / "files").mkdir(parents=True)
        (root / "guest" / f"{digest}.lock").write_text("1\n")
        trim.collect()
        assert list((root / "guest").iterdir()) == []

    def test_what_is_being_made_stays(self, other: list[subprocess.Popen[str]]) -> None:
        maker = session(
            other,
            "def make(files):\n    print('half', flush=True)\n    sys.stdin.readline()\n"
            "    (files / 'hello').write_text('hello')\n"
            "print(cache.entry('guest', {'source': 'abc'}, make), flush=True)",
        )
        assert said(maker) == "half"
        assert trim.collect(keep_bytes=0, max_unused_s=0) == ()
        assert maker.stdin is not None
        maker.stdin.write("go\n")
        maker.stdin.flush()
        assert Path(said(maker), "hello").read_text() == "hello"

    def test_a_damaged_folder_goes_whatever_the_limits(self) -> None:
        folder = self.make("a", 10, 0, time.time())
        self.release()
        (folder / "record.json").write_text("{")
        assert [one.folder for one in trim.collect()] == [folder]

    def test_what_is_not_ours_is_left_alone(self, root: Path) -> None:
        (root / "guest" / "notes").mkdir(parents=True)
        (root / "README").write_text("mine")
        trim.collect(keep_bytes=0, max_unused_s=0)
        assert (root / "guest" / "notes").is_dir()
        assert (root / "README").is_file()
