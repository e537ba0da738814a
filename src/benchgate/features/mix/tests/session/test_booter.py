"""One boot of a mix with a stand-in for QEMU: what is asked, and what becomes of what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import UsageError
from benchgate.base.runs import RawRun
from benchgate.features.mix.guest import mix_image, mix_verify
from benchgate.features.mix.guest.mix_runs import Mix
from benchgate.features.mix.session.booter import MixAttempt, MixBooter
from benchgate.features.mix.tests.mixkit import good_console, mix_console, raw_run, two_parts
from benchgate.plan.options import Options
from benchgate.run.parallel import AttemptJob

Boot = Callable[[Path, bytes], MixAttempt]


class Stood(MixBooter):
    """Without a host and an emulator."""

    def _planned(self, mix: Mix) -> Any:
        return mix

    def _request(self, mix: Mix, planned: Any, image: Any, folder: Path, *, seed: int, attempt: int) -> Any:
        assert planned == mix
        return mix, image, folder, {"seed": seed, "attempt": attempt}


@pytest.fixture
def boot(monkeypatch: pytest.MonkeyPatch) -> Boot:
    def made(folder: Path, text: bytes) -> MixAttempt:
        asked: list[Any] = []

        def execute_all(jobs: Iterable[AttemptJob], _: int) -> Iterator[tuple[int, RawRun]]:
            for n, job in enumerate(jobs):
                asked.append(job.request)
                yield n, raw_run(folder, two_parts(), text)

        monkeypatch.setattr(mix_image, "image", lambda mix, plan, *_: (mix.digest, plan))
        with Stood(Options(clock="insn"), lambda _: None) as stood:
            monkeypatch.setattr(stood.runner, "execute_all", execute_all)
            attempt = stood.run(two_parts(), folder, seed=3, attempt=2)
        ((mix, (digest, plan), place, seeds),) = asked
        assert (mix, digest, place, seeds) == (two_parts(), mix.digest, folder, {"seed": 3, "attempt": 2})
        assert plan.startswith("mix least=2 limit_ms=1000\npart program=")
        return attempt

    return made


def test_a_good_boot_is_verified_and_says_what_was_asked(tmp_path: Path, boot: Boot) -> None:
    attempt = boot(tmp_path, good_console())
    assert (attempt.reason, attempt.raw.folder) == ("", tmp_path)
    assert attempt.run is not None
    assert [run.runs for run in attempt.run.parts] == [2, 0]
    assert json.loads((tmp_path / "mix.json").read_text()) == two_parts().as_json()


def test_what_is_wrong_is_a_reason_on_one_line(tmp_path: Path, boot: Boot) -> None:
    attempt = boot(tmp_path, mix_console([], []))
    assert attempt.run is None
    assert "\n" not in attempt.reason
    assert "use" in attempt.reason or "part" in attempt.reason


def test_a_disturbed_run_says_so(tmp_path: Path, boot: Boot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mix_verify, "excess", lambda _, rule: f"run delay above {rule.run_delay:g}")
    attempt = boot(tmp_path, good_console())
    assert attempt.run is not None
    assert attempt.run.void == "run delay above 0.02"


def test_an_oracle_that_cannot_be_loaded_is_refused_before_the_boot(tmp_path: Path) -> None:
    oracle, mix = tmp_path / "oracle.py", two_parts()
    oracle.write_text("\nimport nosuch\n")
    parts = tuple(
        replace(part, workload=part.workload and replace(part.workload, oracle=oracle)) for part in mix.parts
    )
    with (
        Stood(Options(clock="insn"), lambda _: None) as stood,
        pytest.raises(UsageError, match=r"oracle\.py:2: ModuleNotFoundError"),
    ):
        stood.run(replace(mix, parts=parts), tmp_path)
