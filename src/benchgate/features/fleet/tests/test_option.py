"""What `--fleet` cannot be used with, and what its words must be, is told before anything is made."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.commands import shared
from benchgate.plan import options


def read(**given: object) -> options.Options:
    return options.read(lambda option: given.get(option.field))


FLEET = "tcp://127.0.0.1:8786"


def test_on_a_fleet_auto_is_the_instruction_clock() -> None:
    assert (read().of_features["fleet"], read().clock) == (None, "auto")
    assert (read(fleet=FLEET).of_features["fleet"], read(fleet=FLEET).clock) == (FLEET, "insn")
    assert read(fleet=FLEET, clock="wall").clock == "wall"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clock": "both"}, "--fleet with --clock both: wall time is measured on one worker"),
        ({"measure": True}, "--fleet with --measure"),
        ({"profile_host": True}, "--fleet with --profile-host"),
        ({"qemu": "/bin/qemu"}, "--fleet with --qemu: each worker has its own QEMU"),
        ({"cpus": "0,1"}, "--fleet with --cpus"),
    ],
)
def test_what_a_fleet_cannot_do_is_refused_by_name(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(fleet=FLEET, **given)


@pytest.mark.parametrize("name", ["fleet_certificates", "fleet_key"])
def test_what_only_a_fleet_uses_needs_one(name: str) -> None:
    with pytest.raises(UsageError, match=f"--{name.replace('_', '-')} needs --fleet ADDRESS"):
        read(**{name: "/keys"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fleet": "foo"}, "foo is outside this machine"),
        ({"fleet": FLEET, "fleet_key": "nokey"}, "--fleet-key .*nokey is not a file; name a private key"),
    ],
)
def test_words_that_can_be_no_fleets_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(**given)


def command(*words: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    shared.declare_makers(parser)
    shared.declare_jobs(parser)
    return shared.options_of_features(parser.parse_args(words))


def test_a_command_that_makes_runs_has_the_options(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    assert command() == {}
    assert command("--fleet", FLEET) == {"fleet": FLEET}
    with pytest.raises(UsageError, match="--fleet with --jobs: each worker's --slots say how many"):
        command("--fleet", FLEET, "--jobs", "2")
    with pytest.raises(UsageError, match="--fleet-certificates needs --fleet ADDRESS"):
        command("--fleet-certificates", str(tmp_path / "keys"))
