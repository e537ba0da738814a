"""doctor works even if parts are missing; their rows say why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from benchgate.base.errors import BuildError, FetchError, LockError
from benchgate.base.qemu import Qemu
from benchgate.build import toolchain
from benchgate.build.fetch import inputs
from benchgate.build.fetch.inputs import LinuxKernel
from benchgate.host import lock, plugin_api
from benchgate.session import doctor


def refuse(error: Exception) -> object:
    def raises(*_: object, **__: object) -> NoReturn:
        raise error

    return raises


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without QEMU, Linux and compiler."""
    monkeypatch.setattr(inputs, "qemu", refuse(FetchError("no QEMU here; give --qemu PATH")))
    monkeypatch.setattr(inputs, "linux_kernel", refuse(FetchError("no Linux here; give --linux-kernel PATH")))
    monkeypatch.setattr(toolchain, "compiler", refuse(BuildError("no C compiler; install gcc")))


def rows(text: str) -> str:
    """The report without its line breaks."""
    return " ".join(text.split())


def test_the_report_works_without_qemu_linux_and_compiler(
    nothing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "measuring", refuse(AssertionError("nothing is measured without QEMU")))
    said = rows(doctor.report())
    for reason in ("no QEMU here; give --qemu PATH", "no Linux here", "no C compiler; install gcc"):
        assert f"none: {reason}" in said


def test_the_report_works_without_a_compiler(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Qemu(Path("/q"), {}, (), (10, 0, 2), "d", "user", ())
    monkeypatch.setattr(inputs, "qemu", lambda *_, **__: found)
    monkeypatch.setattr(plugin_api, "ask", refuse(BuildError("no C compiler; install gcc")))
    monkeypatch.setattr(lock, "measuring", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(doctor, "survey", refuse(BuildError("no C compiler; install gcc")))
    monkeypatch.setattr(doctor, "support", refuse(BuildError("no C compiler; install gcc")))
    said = rows(doctor.report())
    assert "10.0.2 (user), plugin API unknown: no C compiler" in said
    assert "it was not probed: no C compiler; install gcc" in said
    assert "compiler none: no C compiler" in said
    assert "lane insn no: level none: no C compiler" in said


def test_the_given_qemu_is_used(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path | None] = []

    def qemu(path: Path | None, **_: object) -> NoReturn:
        asked.append(path)
        raise FetchError("not a QEMU")

    monkeypatch.setattr(inputs, "qemu", qemu)
    assert "none: not a QEMU" in rows(doctor.report(Path("/q")))
    assert asked == [Path("/q")]


def test_linux_is_shown_with_its_labels(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    linux = LinuxKernel(Path("/l"), "6.12.9", "k", None, "c", ("unreviewed image",))
    monkeypatch.setattr(inputs, "linux_kernel", lambda **_: linux)
    assert "6.12.9, unreviewed image" in rows(doctor.report())


def test_another_session_that_measures_is_an_error(nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Qemu(Path("/q"), {}, (), (10, 0, 2), "d", "user", ())
    monkeypatch.setattr(inputs, "qemu", lambda *_, **__: found)

    @contextlib.contextmanager
    def measuring(*_: object, **__: object) -> Iterator[None]:
        raise LockError("process 7 measures")
        yield

    monkeypatch.setattr(lock, "measuring", measuring)
    monkeypatch.setattr(doctor, "_qemu", lambda _: (found, "10.0.2 (user)"))
    with pytest.raises(LockError, match="process 7 measures"):
        doctor.report()
