"""A worker runs what is in its list or what a signer vouches for, and says how anything else is allowed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import CatalogError, UsageError
from benchgate.features.fleet import allow
from benchgate.features.fleet.allow import policy
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.task import Item
from benchgate.features.fleet.tests.tasks import SHA, task
from tests import optional
from tests.machines import PATIENCE_S

needs_ssh = optional.needs("ssh-keygen")
INPUTS = {
    "primes-linux": {"kernel": "1" * 64, "kernel_config": "2" * 64, "vmlinuz": "3" * 64, "initrd": "4" * 64},
    "other-own": {"disk0": "5" * 64, "disk1": "6" * 64, "firmware": "7" * 64},
    "qemu": {"version": "9.2.0", "digest": "8" * 64, "origin": "fetched", "clock": f"full serial {'9' * 64}"},
    "labels": ["unreviewed image"],
}


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    file = tmp_path / "allowed"
    allow.add(file, task().items, "primes")
    return file


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys, and a list of signers with the first of them."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("owner", "stranger"):
        words = [
            "ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "made by a test",
            "-f",
            str(folder / name),
        ]
        subprocess.run(words, check=True, timeout=PATIENCE_S)
    (folder / "signers").write_text(f"owner@example.org {(folder / 'owner.pub').read_text()}")
    return folder


def test_a_list_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"nope cannot be read: No such file or directory; next: `benchg"):
        policy(tmp_path / "nope", None, any_guest=False)
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(CatalogError, match=r"binary cannot be read: it is not UTF-8 text; next: "):
        policy(tmp_path / "binary", None, any_guest=False)


def test_a_list_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="list cannot be written: No such file or directory; next: "):
        allow.add(tmp_path / "nowhere" / "list", task().items)


def test_what_is_listed_runs(listed: Path) -> None:
    policy(listed, None, any_guest=False).require(task())


@pytest.mark.parametrize("role", ["qemu", "clock", "kernel", "initrd"])
def test_what_is_missing_is_named_with_the_way_to_allow_it(listed: Path, role: str) -> None:
    lines = [line for line in listed.read_text().splitlines(keepends=True) if not line.startswith(role)]
    listed.write_text("".join(lines))
    mine = policy(listed, None, any_guest=False)
    with pytest.raises(RefusedError) as error:
        mine.require(task())
    digest = {"clock": SHA["clock"]}.get(role, SHA[role])
    assert str(error.value).startswith(f"{role} {digest}: not in {listed}, and ")
    assert f"`benchgate fleet allow {listed} {role}={digest}`" in str(error.value)
    allow.add(listed, [Item(role, digest)])
    mine.require(task())  # the list is read again


def test_a_digest_is_allowed_for_its_role_only(listed: Path) -> None:
    listed.write_text(listed.read_text().replace("kernel ", "disk "))
    with pytest.raises(RefusedError, match=f"kernel {SHA['kernel']}: not in"):
        policy(listed, None, any_guest=False).require(task())


def test_any_guest_still_names_what_it_runs_in() -> None:
    mine = policy(None, None, any_guest=True)
    mine.require(task())
    guests = tuple(item for item in task().items if item.role != "clock")
    with pytest.raises(RefusedError, match="does not name its qemu and clock"):
        mine.require(task(items=guests))


@needs_ssh
def test_what_the_owner_vouches_for_runs(keys: Path) -> None:
    mine = policy(None, keys / "signers", any_guest=False)
    mine.require(task(vouched=allow.vouched(task().items, keys / "owner")))


@needs_ssh
@pytest.mark.parametrize(
    "kind", ["nobody", "a stranger", "another guest", "no signature", "another namespace"]
)
def test_another_signature_allows_nothing(keys: Path, tmp_path: Path, kind: str) -> None:
    items, why = task().items, "is not by a signer"
    if kind == "nobody":
        vouched, why = "", "nobody signed it"
    elif kind == "a stranger":
        vouched = allow.vouched(items, keys / "stranger")
    elif kind == "another guest":
        vouched, why = allow.vouched(items[1:], keys / "owner"), "is not a signature of this"
    elif kind == "no signature":
        vouched, why = "-----BEGIN", "is not in the form"
    else:
        text = tmp_path / "manifest"
        text.write_text(task().manifest)
        words = ["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", str(keys / "owner"), str(text)]
        subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE_S)
        vouched, why = text.with_name("manifest.sig").read_text(), "is not a signature of this"
    with pytest.raises(RefusedError) as error:
        policy(None, keys / "signers", any_guest=False).require(task(vouched=vouched))
    assert why in str(error.value)
    assert f"a signature by one of {keys / 'signers'} (the session's --fleet-key)" in str(error.value)


def test_a_worker_that_allows_nothing_does_not_start() -> None:
    with pytest.raises(UsageError) as error:
        policy(None, None, any_guest=False)
    for option in ("--allow FILE", "--signers FILE", "--any-guest"):
        assert option in str(error.value)


@needs_ssh
def test_a_file_of_signers_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a file"):
        policy(None, tmp_path / "none", any_guest=False)


@pytest.mark.parametrize(
    "line", ["kernel", "kernel abc", f"python {'a' * 64}", f"kernel {'A' * 64}", f"kernel {'a' * 64} more"]
)
def test_a_wrong_line_is_named(listed: Path, line: str) -> None:
    listed.write_text(f"# what we run\n\n{line}\n")
    with pytest.raises(CatalogError) as error:
        policy(listed, None, any_guest=False)
    assert str(error.value).startswith(f"{listed}:3: `{line}` is not a role")


def test_a_list_that_is_gone_allows_nothing(listed: Path) -> None:
    mine = policy(listed, None, any_guest=False)
    listed.unlink()
    with pytest.raises(CatalogError, match="cannot be read"):
        mine.require(task())


def test_a_line_is_added_once(listed: Path) -> None:
    assert allow.add(listed, task().items) == ()
    assert listed.read_text().count("\n") == len(task().items)
    assert listed.read_text().splitlines()[0].endswith("  # primes")


def test_a_session_allows_what_it_booted(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text(json.dumps({"inputs": INPUTS}))
    assert set(allow.items_of_session(tmp_path)) == {
        *(Item("kernel", "1" * 64), Item("initrd", "4" * 64), Item("disk", "5" * 64), Item("disk", "6" * 64)),
        *(Item("firmware", "7" * 64), Item("qemu", "8" * 64), Item("clock", "9" * 64)),
    }


def test_a_file_is_allowed_by_its_content(tmp_path: Path) -> None:
    image = tmp_path / "kernel.elf"
    image.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of FIPS 180-2, appendix B.1
    assert allow.item_of_word(f"kernel={image}") == Item("kernel", known)


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
        allow.item_of_word(word)
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
