"""An operator names what to allow by digest, by file or by a session that ran it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import UsageError
from benchgate.fleet import allow, allowing
from benchgate.fleet.task import Item

INPUTS = {
    "primes-linux": {"kernel": "1" * 64, "kernel_config": "2" * 64, "vmlinuz": "3" * 64, "initrd": "4" * 64},
    "other-own": {"disk0": "5" * 64, "disk1": "6" * 64, "firmware": "7" * 64},
    "qemu": {"version": "9.2.0", "digest": "8" * 64, "origin": "fetched", "clock": f"full serial {'9' * 64}"},
    "labels": ["unreviewed image"],
}


def test_a_session_allows_what_it_booted(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text(json.dumps({"inputs": INPUTS}))
    assert set(allowing.of_session(tmp_path)) == {
        *(Item("kernel", "1" * 64), Item("initrd", "4" * 64), Item("disk", "5" * 64), Item("disk", "6" * 64)),
        *(Item("firmware", "7" * 64), Item("qemu", "8" * 64), Item("clock", "9" * 64)),
    }


def test_a_file_is_allowed_by_its_content(tmp_path: Path) -> None:
    image = tmp_path / "kernel.elf"
    image.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of FIPS 180-2, appendix B.1
    assert allowing.item(f"kernel={image}") == Item("kernel", known)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("kernel", "is not ROLE=DIGEST"),
        (f"python={'a' * 64}", "a role is one of qemu, clock"),
        ("kernel=/nowhere/x", "neither a SHA-256 nor a file: No such file"),
        ("qemu=/usr/bin/qemu", "qemu needs a SHA-256"),
    ],
)
def test_a_wrong_word_is_named(word: str, why: str) -> None:
    with pytest.raises(UsageError) as error:
        allowing.item(word)
    assert why in str(error.value)


def test_the_command_adds_to_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "allowed"
    words = ["fleet", "allow", str(listed), f"kernel={'a' * 64}"]
    assert cli.main(words) == 0
    assert cli.main(words) == 0
    assert allow.read(listed) == {Item("kernel", "a" * 64)}
    assert capsys.readouterr().out.splitlines() == [
        f"allowed: kernel {'a' * 64}",
        f"{listed}: 1 added, 0 were there",
        f"{listed}: 0 added, 1 were there",
    ]
    assert cli.main(["fleet", "allow", str(listed)]) == 4
