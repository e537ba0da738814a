"""The cache: a folder is made once, completely or not at all, and never removed while in use."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import benchgate
from benchgate.base.errors import BuildError, HostError
from benchgate.base.files import tree_digest
from benchgate.build import cache, cache_storage, cache_trim
from benchgate.build.cache_trim import CacheEntry
from tests.machines import PATIENCE_S

KEY = {"source": "abc"}
CHANGED = "was changed or damaged"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "the cache"
    monkeypatch.setenv("BENCHGATE_CACHE", str(folder))
    return folder


@pytest.fixture
def other() -> Iterator[list[subprocess.Popen[str]]]:
    """Other sessions, as processes. All are ended after the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def session(started: list[subprocess.Popen[str]], body: str) -> subprocess.Popen[str]:
    script = f"import os, sys, time\nfrom pathlib import Path\nfrom benchgate.build import cache\n{body}"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(cache.__file__).parents[2])},
    )
    started.append(process)
    return process


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def write_hello(files: Path) -> None:
    (files / "deep").mkdir()
    (files / "deep" / "hello").write_text("hello\n")
    (files / "deep" / "link").symlink_to("hello")


def end_of_process() -> None:
    """Releases all folders, as the end of this process does."""
    while cache._held:
        os.close(cache._held.popitem()[1])


def must_not_make(files: Path) -> None:
    raise AssertionError(f"made again: {files}")


class TestRoot:
    def test_benchgate_cache_comes_first(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
        assert cache_storage.cache_root() == root

    def test_xdg_cache_home_comes_second(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("BENCHGATE_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
        assert cache_storage.cache_root() == Path("/elsewhere/benchgate")

    @pytest.mark.parametrize("value", ["", "relative/path"])
    def test_the_home_folder_comes_last(self, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        monkeypatch.delenv("BENCHGATE_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("HOME", "/user")
        assert cache_storage.cache_root() == Path("/user/.cache/benchgate")


class TestEntry:
    def test_a_folder_is_made_once(self) -> None:
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

    def test_the_order_of_the_keys_does_not_matter(self) -> None:
        first = cache.entry("guest", {"a": "1", "b": "2"}, write_hello)
        assert cache.entry("guest", {"b": "2", "a": "1"}, must_not_make) == first

    @pytest.mark.parametrize("kind", ["", "../guest", "a/b", "Guest"])
    def test_a_kind_that_is_not_a_plain_word_is_refused(self, kind: str) -> None:
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

    def test_a_folder_of_a_session_killed_while_making_it_is_never_used(
        self, root: Path, other: list[subprocess.Popen[str]]
    ) -> None:
        maker = session(
            other,
            "def make(files):\n    (files / 'hello').write_text('half')\n"
            "    print('half', flush=True)\n    time.sleep(6000)\n"
            "cache.entry('guest', {'source': 'abc'}, make)",
        )
        assert next_line(maker) == "half"
        maker.send_signal(signal.SIGKILL)
        maker.wait(PATIENCE_S)
        assert len(list((root / "guest").glob("*.tmp"))) == 1
        files = cache.entry("guest", KEY, write_hello)
        assert sorted(path.name for path in files.iterdir()) == ["deep"]
        assert [path.name for path in (root / "guest").iterdir()] == [files.parent.name]

    @pytest.mark.parametrize(
        "damage",
        ["same size", "other link", "shorter", "missing", "more", "no record", "bad record", "wrong type"],
    )
    def test_a_damaged_folder_is_made_again_with_a_notice(
        self, damage: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = cache.entry("guest", KEY, write_hello)
        end_of_process()
        hello, record = files / "deep" / "hello", files.parent / "record.json"
        if damage == "same size":
            hello.write_text("hullo\n")
        elif damage == "other link":
            (files / "deep" / "link").unlink()
            (files / "deep" / "link").symlink_to("hallo")
        elif damage == "shorter":
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
        assert (again / "deep" / "link").readlink() == Path("hello")
        assert not (again / "extra").exists()
        said = capsys.readouterr().err
        assert said == f"benchgate: the cache's guest {files.parent.name[:8]} {CHANGED}: it is made again\n"

    def test_a_damaged_folder_does_not_exist(self) -> None:
        files = cache.entry("guest", KEY, write_hello)
        assert cache.existing("guest", KEY) == files
        end_of_process()
        (files / "deep" / "hello").write_text("hullo\n")
        assert cache.existing("guest", KEY) is None

    def test_the_content_is_read_once_a_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cache.entry("guest", KEY, write_hello)
        end_of_process()
        read: list[Path] = []

        def counted(folder: Path) -> str:
            read.append(folder)
            return tree_digest(folder)

        monkeypatch.setattr(cache, "tree_digest", counted)
        files = [cache.entry("guest", KEY, must_not_make) for _ in range(3)]
        assert read == files[:1]

    def test_a_listener_gets_the_notice_instead_of_stderr(self, capsys: pytest.CaptureFixture[str]) -> None:
        files = cache.entry("guest", KEY, write_hello)
        end_of_process()
        (files / "deep" / "hello").write_text("hullo\n")
        heard: list[str] = []
        with cache_storage.notices_to(heard.append):
            cache.entry("guest", KEY, write_hello)
        assert [CHANGED in text for text in heard] == [True]
        assert capsys.readouterr().err == ""

    def test_concurrent_sessions_make_a_folder_once(
        self, tmp_path: Path, other: list[subprocess.Popen[str]]
    ) -> None:
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
        assert [next_line(one) for one in sessions] == ["hello"] * 4
        assert (tmp_path / "log").read_text() == "made\n"

    def test_a_wait_has_a_deadline_and_names_the_maker(self, other: list[subprocess.Popen[str]]) -> None:
        maker = session(
            other,
            "def make(files):\n    print('half', flush=True)\n    time.sleep(6000)\n"
            "cache.entry('guest', {'source': 'abc'}, make)",
        )
        assert next_line(maker) == "half"
        notices: list[str] = []
        with pytest.raises(HostError, match=rf"process {maker.pid} has been making .* for more than"):
            cache.entry("guest", KEY, must_not_make, wait_s=0.2, notice=notices.append)
        assert len(notices) == 1
        assert f"waiting for process {maker.pid}" in notices[0]


class TestStorage:
    def test_a_root_that_is_a_file_is_reported(self, root: Path) -> None:
        root.write_text("in the way")
        with pytest.raises(HostError, match=r"the cache folder cannot be used: .*BENCHGATE_CACHE"):
            cache.entry("guest", KEY, write_hello)

    @pytest.mark.parametrize(
        "place", ["/proc/nosuch", "/proc/nosuch/deep/down", "/sys/nosuch/deep", f"/tmp/{'x' * 300}"]
    )
    def test_a_root_that_cannot_be_created_is_reported(
        self, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        monkeypatch.setenv("BENCHGATE_CACHE", place)
        with pytest.raises(HostError, match=r"the cache folder cannot be used: .*BENCHGATE_CACHE"):
            cache.entry("guest", KEY, write_hello)

    def test_a_file_missing_from_a_build_is_not_reported_as_a_cache_error(self) -> None:
        def forget(files: Path) -> None:
            (files / "never made").read_text()

        with pytest.raises(FileNotFoundError, match="never made"):
            cache.entry("guest", KEY, forget)

    @pytest.mark.parametrize("look", [cache_trim.listing, lambda: cache_trim.collect_garbage(0)])
    def test_a_root_that_is_a_file_cannot_be_listed(self, root: Path, look: Callable[[], object]) -> None:
        root.write_text("in the way")
        with pytest.raises(HostError, match=r"the cache .* is not a folder: set BENCHGATE_CACHE"):
            look()

    def test_a_full_disk_is_reported_and_leaves_nothing(self, root: Path) -> None:
        def fill(files: Path) -> None:
            write_hello(files)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with pytest.raises(HostError, match="No space left on device"):
            cache.entry("guest", KEY, fill)
        assert list((root / "guest").iterdir()) == []

    def test_an_unwritable_cache_folder_is_reported(self) -> None:
        def refuse(files: Path) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(files / "hello"))

        with pytest.raises(HostError, match=r"Permission denied; free some space, or set BENCHGATE_CACHE"):
            cache.entry("guest", KEY, refuse)

    def test_an_unreadable_source_is_not_reported_as_a_cache_error(self, tmp_path: Path) -> None:
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

    def test_an_empty_cache_lists_and_collects_nothing(self) -> None:
        assert cache_trim.listing() == ()
        assert cache_trim.collect_garbage(keep_bytes=0) == ()

    def test_a_listing_has_key_time_and_size(self) -> None:
        before = time.time()
        cache.entry("guest", KEY, write_hello)
        (entry,) = cache_trim.listing()
        assert (entry.kind, dict(entry.key), entry.in_use) == ("guest", KEY, True)
        assert before - 1 <= entry.used_s <= time.time() + 1
        assert entry.size_bytes > len("hello\n")

    def test_every_kind_of_folder_says_what_it_is_for(self) -> None:
        """Those of other architectures, and snapshots, had an empty line in `benchgate cache`."""
        text = "\n".join(path.read_text() for path in Path(benchgate.__file__).parent.rglob("*.py"))
        kinds = {*re.findall(r"""\b(?:entry|kind)\("([a-z-]+)",?""", text), "snapshot", "compiler"}
        assert len(kinds) > 12
        places = (CacheEntry(kind, "0", Path(), {"name": "x"}, 0.0, 0, in_use=False) for kind in kinds)
        assert [place.kind for place in places if not place.purpose] == []
        far = CacheEntry("qemu-riscv64", "0", Path(), {"version": "10.0.2"}, 0.0, 0, in_use=False)
        assert far.purpose == "riscv64: QEMU: 10.0.2"

    def test_a_sparse_file_counts_as_what_it_takes_on_the_disk(self) -> None:
        """A snapshot of a guest is one: by its length it alone would exceed what is kept."""

        def fill(files: Path) -> None:
            with (files / "memory").open("wb") as stream:
                stream.truncate(10 << 20)
                stream.seek(5 << 20)
                stream.write(b"x" * 100)
            (files / "again").hardlink_to(files / "memory")

        cache.entry("guest", {"name": "sparse"}, fill)
        end_of_process()
        (entry,) = cache_trim.listing()
        du = subprocess.run(["du", "-s", "-B1", entry.folder], capture_output=True, text=True, check=True)
        assert entry.size_bytes == int(du.stdout.split()[0]) < 1 << 20
        assert cache_trim.collect_garbage(keep_bytes=1 << 20) == ()
        assert cache.existing("guest", {"name": "sparse"}) is not None

    def test_the_least_recently_used_is_removed_until_the_rest_fits(self) -> None:
        now = time.time()
        old, middle, new = (
            self.make(name, 1_000_000, age, now) for name, age in (("a", 300), ("b", 200), ("c", 100))
        )
        end_of_process()
        gone = cache_trim.collect_garbage(keep_bytes=2_500_000)
        assert [entry.folder for entry in gone] == [old]
        assert (middle.is_dir(), new.is_dir(), old.exists()) == (True, True, False)

    def test_age_is_the_time_since_the_last_use(self) -> None:
        now = time.time()
        old = self.make("a", 1_000_000, 1000, now)
        used = self.make("b", 1_000_000, 2000, now)
        cache.entry("guest", {"name": "b"}, must_not_make)
        end_of_process()
        assert [entry.folder for entry in cache_trim.collect_garbage(keep_bytes=1_500_000)] == [old]
        assert used.is_dir()

    def test_a_folder_in_use_by_this_process_stays(self) -> None:
        folder = self.make("a", 10, 1000, time.time())
        assert cache_trim.collect_garbage(keep_bytes=0) == ()
        assert folder.is_dir()

    def test_a_folder_in_use_by_another_session_stays(self, other: list[subprocess.Popen[str]]) -> None:
        folder = self.make("a", 10, 1000, time.time())
        end_of_process()
        user = session(
            other,
            "cache.entry('guest', {'name': 'a'}, None)\nprint('using', flush=True)\nsys.stdin.readline()",
        )
        assert next_line(user) == "using"
        assert cache_trim.collect_garbage(keep_bytes=0) == ()
        assert cache_trim.listing()[0].in_use
        user.kill()
        user.wait(PATIENCE_S)
        assert [entry.folder for entry in cache_trim.collect_garbage(keep_bytes=0)] == [folder]

    def test_leftovers_of_a_killed_session_are_removed(self, root: Path) -> None:
        digest = "0123456789abcdef" * 2
        (root / "guest" / f"{digest}.tmp" / "files").mkdir(parents=True)
        (root / "guest" / f"{digest}.lock").write_text("1\n")
        cache_trim.collect_garbage(keep_bytes=2**30)
        assert list((root / "guest").iterdir()) == []

    def test_a_folder_that_is_being_made_stays(self, other: list[subprocess.Popen[str]]) -> None:
        maker = session(
            other,
            "def make(files):\n    print('half', flush=True)\n    sys.stdin.readline()\n"
            "    (files / 'hello').write_text('hello')\n"
            "print(cache.entry('guest', {'source': 'abc'}, make), flush=True)",
        )
        assert next_line(maker) == "half"
        assert cache_trim.collect_garbage(keep_bytes=0) == ()
        assert maker.stdin is not None
        maker.stdin.write("go\n")
        maker.stdin.flush()
        assert Path(next_line(maker), "hello").read_text() == "hello"

    def test_a_damaged_folder_is_removed_regardless_of_the_limit(self) -> None:
        folder = self.make("a", 10, 0, time.time())
        end_of_process()
        (folder / "record.json").write_text("{")
        assert [entry.folder for entry in cache_trim.collect_garbage(keep_bytes=2**30)] == [folder]

    def test_other_files_in_the_root_are_left_alone(self, root: Path) -> None:
        (root / "guest" / "notes").mkdir(parents=True)
        (root / "README").write_text("mine")
        cache_trim.collect_garbage(keep_bytes=0)
        assert (root / "guest" / "notes").is_dir()
        assert (root / "README").is_file()
