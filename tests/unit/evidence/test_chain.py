"""Sessions are signed by ssh-keygen, and a signature that is missing, foreign or changed is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import HostError, UsageError
from benchgate.base.ssh_signatures import Signers
from benchgate.evidence.chain import sign_manifest
from benchgate.evidence.check import INCOMPLETE, INTACT, TAMPERED, UNSIGNED, verify_session
from benchgate.evidence.files import MANIFEST, SIGNATURE, digest_of, files_below
from tests import optional
from tests.machines import PATIENCE_S
from tests.unit.sessions import finished_session, recomputed

pytestmark = optional.needs("ssh-keygen")


def new_key(path: Path, passphrase: str = "", kind: str = "ed25519") -> Path:
    words = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "made by a test", "-f", str(path)]
    subprocess.run(words, check=True, timeout=PATIENCE_S)
    return path


def line_of(key: Path, name: str, options: str = "") -> str:
    return f"{name} {options} {key.with_suffix('.pub').read_text()}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return finished_session(tmp_path / "reports").folder


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return new_key(tmp_path / "key")


@pytest.fixture
def signed(folder: Path, key: Path) -> Path:
    assert cli.main(["sign", str(folder), "--key", str(key)]) == 0
    return folder


def signers(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "signers"
    path.write_text("".join(lines))
    return path


def status(folder: Path, file: Path | None, identity: str = "") -> tuple[int, str]:
    check = verify_session(folder, recomputed, None if file is None else Signers(file, identity))
    return check.exit_code, check.text


def test_a_signed_session_is_intact_and_names_its_signer(signed: Path, key: Path, tmp_path: Path) -> None:
    file = signers(tmp_path, line_of(key, "ci@example.org"))
    for identity in ("", "ci@example.org"):
        code, said = status(signed, file, identity)
        assert code == INTACT, said
        assert 'signed by ci@example.org: Good "benchgate-manifest" signature' in said
    code, said = status(signed, None)
    assert (code, "by whom was not checked: name --signers" in said) == (INTACT, True)


def test_ssh_keygen_alone_gives_the_same_answer(signed: Path, key: Path, tmp_path: Path) -> None:
    """The command in docs/reference/evidence.md."""
    file = signers(tmp_path, line_of(key, "ci@example.org", 'namespaces="benchgate-manifest"'))
    words = ["ssh-keygen", "-Y", "verify", "-f", str(file), "-I", "ci@example.org"]
    words += ["-n", "benchgate-manifest", "-s", str(signed / SIGNATURE)]
    for change, status_ in ((b"", 0), (b"x", 255)):
        manifest = (signed / MANIFEST).read_bytes() + change
        done = subprocess.run(words, input=manifest, capture_output=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == status_


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_keys_of_other_kinds_sign_too(folder: Path, tmp_path: Path, kind: str) -> None:
    key = new_key(tmp_path / "other", kind=kind)
    assert cli.main(["sign", str(folder), "--key", str(key)]) == 0
    assert status(folder, signers(tmp_path, line_of(key, "ci")))[0] == INTACT


def test_without_a_signature_the_session_is_not_signed(folder: Path, key: Path, tmp_path: Path) -> None:
    code, said = status(folder, signers(tmp_path, line_of(key, "ci")))
    assert code == UNSIGNED == 16
    assert f"there is no {SIGNATURE}" in said
    assert status(folder, None)[0] == INTACT


def test_an_unsigned_session_is_not_judged(folder: Path, key: Path, tmp_path: Path) -> None:
    """Judging runs patterns and oracles on what the folder says."""

    def never(_: Path) -> dict[str, str]:
        raise AssertionError

    file = signers(tmp_path, line_of(key, "ci"))
    assert verify_session(folder, never, Signers(file)).exit_code == UNSIGNED


def test_another_signer_is_not_accepted(signed: Path, key: Path, tmp_path: Path) -> None:
    other = new_key(tmp_path / "second")
    stranger = signers(tmp_path, line_of(other, "ci"))
    assert status(signed, stranger)[0] == UNSIGNED
    both = signers(tmp_path, line_of(other, "boss"), line_of(key, "ci"))
    assert [status(signed, both, name)[0] for name in ("", "ci", "boss", "nobody")] == [0, 0, 16, 16]
    assert "is not by boss of" in status(signed, both, "boss")[1]


def test_a_key_for_another_purpose_is_not_accepted(signed: Path, key: Path, tmp_path: Path) -> None:
    file = signers(tmp_path, line_of(key, "ci", 'namespaces="git"'))
    assert status(signed, file)[0] == UNSIGNED
    file = signers(tmp_path, line_of(key, "ci", 'namespaces="benchgate-manifest"'))
    assert status(signed, file)[0] == INTACT


def test_a_signature_of_another_namespace_is_tampered(folder: Path, key: Path) -> None:
    words = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", "git", str(folder / MANIFEST)]
    subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE_S)
    assert status(folder, None)[0] == TAMPERED


def test_a_session_changed_and_sealed_again_is_not_the_signed_one(
    signed: Path, key: Path, tmp_path: Path
) -> None:
    """What no hash can find: everything is written again, consistently. The signature finds it."""
    (signed / "summary.md").write_text("# PASS\n\nand more\n")
    names = [name for name in files_below(signed) if name not in (MANIFEST, SIGNATURE)]
    lines = sorted(f"{digest_of(signed, name)}  {name}\n" for name in names)
    (signed / MANIFEST).write_text("".join(sorted(lines, key=lambda line: line.split("  ")[1])))
    assert verify_session(signed).exit_code == TAMPERED
    assert f"{SIGNATURE} is not a signature of this {MANIFEST}" in verify_session(signed).text
    (signed / SIGNATURE).unlink()
    assert verify_session(signed).exit_code == INTACT
    assert status(signed, signers(tmp_path, line_of(key, "ci")))[0] == UNSIGNED


def test_every_byte_of_a_signature_counts(signed: Path) -> None:
    """Base64 and the armour leave freedom, so the form is checked as well as the signature."""
    data = (signed / SIGNATURE).read_bytes()
    changes = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 3)]
    changes += [data + b"\n", data[:-1], data.replace(b"\n", b"\r\n"), b"", b"\xff", data * 2]
    for changed in changes:
        (signed / SIGNATURE).write_bytes(changed)
        assert verify_session(signed).exit_code == TAMPERED, changed


def test_a_signature_that_is_no_plain_file_is_tampered(signed: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (signed / SIGNATURE).rename(outside)
    (signed / SIGNATURE).symlink_to(outside)
    assert verify_session(signed).exit_code == TAMPERED
    (signed / SIGNATURE).unlink()
    os.mkfifo(signed / SIGNATURE)
    assert verify_session(signed).exit_code == TAMPERED


def test_a_session_that_is_not_intact_is_not_signed(
    folder: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "summary.md").write_text("# FAIL\n")
    assert cli.main(["sign", str(folder), "--key", str(key)]) == TAMPERED
    assert not (folder / SIGNATURE).exists()
    (folder / MANIFEST).unlink()
    assert cli.main(["sign", str(folder), "--key", str(key)]) == INCOMPLETE
    assert "never sealed" in capsys.readouterr().out


def test_a_session_is_signed_once(signed: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (signed / SIGNATURE).read_text()
    assert cli.main(["sign", str(signed), "--key", str(key)]) == 4
    assert "remove it to sign again" in capsys.readouterr().err
    assert (signed / SIGNATURE).read_text() == before


def test_mistakes_are_one_sentence(
    folder: Path,
    key: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(UsageError, match=r"--key .*absent is not a file"):
        sign_manifest(folder, tmp_path / "absent")
    with pytest.raises(UsageError, match=r"ssh-keygen did not sign: .*passphrase"):
        sign_manifest(folder, new_key(tmp_path / "locked", passphrase="not given"))
    (tmp_path / "noise").write_text("no key\n")
    with pytest.raises(UsageError, match="ssh-keygen did not sign"):
        sign_manifest(folder, tmp_path / "noise")
    with pytest.raises(UsageError, match=r"--signers .*absent is not a file"):
        status(folder, tmp_path / "absent")
    assert cli.main(["verify", str(folder), "--identity", "ci"]) == 4
    assert "add --signers FILE" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="install openssh-client"):
        sign_manifest(folder, key)
    with pytest.raises(HostError, match="install openssh-client"):
        status(folder, signers(tmp_path, line_of(key, "ci")))


def test_without_ssh_keygen_the_signature_is_said_to_be_unchecked(
    signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check = verify_session(signed)
    assert check.exit_code == INTACT
    assert "its signature was not checked: ssh-keygen is not installed" in check.text
