"""The certificates of a fleet are one authority's, each for its role, and nobody else can read the keys."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import HostError, UsageError
from benchgate.features.fleet import certificates
from benchgate.features.fleet.certificates import CLIENT, ROLES, SCHEDULER, WORKER, checked_address, security
from tests import optional
from tests.machines import PATIENCE_S

pytestmark = optional.needs("openssl")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet") / "certificates"
    assert cli.main(["fleet", "certificates", str(folder)]) == 0
    return folder


def verified(made: Path, role: str, purpose: str, authority: Path) -> bool:
    words = [
        "openssl",
        "verify",
        "-purpose",
        purpose,
        "-CAfile",
        str(authority),
        str(made / role / "cert.pem"),
    ]
    return subprocess.run(words, capture_output=True, check=False, timeout=PATIENCE_S).returncode == 0


def test_a_folder_for_each_role_and_nothing_else(made: Path) -> None:
    assert sorted(path.name for path in made.iterdir()) == ["authority", *sorted(ROLES)]
    for role in ROLES:
        assert sorted(path.name for path in (made / role).iterdir()) == ["ca.pem", "cert.pem", "key.pem"]


def test_others_cannot_read_a_key(made: Path) -> None:
    keys = list(made.rglob("key.pem"))
    assert len(keys) == 4
    assert [oct(key.stat().st_mode & 0o777) for key in keys] == ["0o600"] * 4
    assert made.stat().st_mode & 0o077 == 0


def test_a_client_cannot_be_a_server(made: Path) -> None:
    authority = made / "authority" / "ca.pem"
    result = {
        (role, use): verified(made, role, use, authority)
        for role in ROLES
        for use in ("sslserver", "sslclient")
    }
    assert [pair for pair, good in result.items() if not good] == [(CLIENT, "sslserver")]


def test_another_fleet_does_not_trust_them(made: Path, tmp_path: Path) -> None:
    certificates.make(tmp_path / "other", days=1)
    assert not verified(made, WORKER, "sslclient", tmp_path / "other" / "authority" / "ca.pem")


def test_nothing_is_overwritten(made: Path) -> None:
    before = (made / SCHEDULER / "cert.pem").read_bytes()
    with pytest.raises(UsageError, match="are not overwritten"):
        certificates.make(made)
    assert (made / SCHEDULER / "cert.pem").read_bytes() == before


def test_a_failure_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(HostError, match="openssl req failed"):
        certificates.make(tmp_path / "mine" / "new" / "x", days=-1)
    assert [*tmp_path.rglob("*")] == [tmp_path / "mine"]


def test_a_folder_that_cannot_be_made_is_not_called_one_in_use(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be made: Not a directory; next: name a new folder") as error:
        certificates.make(tmp_path / "file" / "x")
    assert "overwritten" not in str(error.value)


def test_without_openssl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="install the package openssl"):
        certificates.make(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_dask_gets_them(made: Path) -> None:
    pytest.importorskip("distributed")
    for folder in (made, made / WORKER):
        result = security(folder, WORKER)
        assert result.require_encryption
        assert result.get_tls_config_for_role("worker")["cert"] == str(made / WORKER / "cert.pem")
    context = result.get_listen_args("worker")["ssl_context"]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3


def test_a_folder_without_certificates(made: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match=r"has no ca.pem; name the folder `worker`"):
        security(tmp_path, WORKER)


def test_a_key_that_others_can_read_is_not_used(made: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    shutil.copytree(made / CLIENT, tmp_path / CLIENT)
    (tmp_path / CLIENT / "key.pem").chmod(0o644)
    with pytest.raises(UsageError, match="can be read by others; `chmod 600"):
        security(tmp_path, CLIENT)


@pytest.mark.parametrize(
    ("word", "certificates", "address"),
    [
        ("tcp://127.0.0.1:8786", False, "tcp://127.0.0.1:8786"),
        ("localhost", False, "tcp://localhost:8786"),
        ("tcp://[::1]:1", False, "tcp://[::1]:1"),
        ("tcp://127.8.9.1:80", True, "tcp://127.8.9.1:80"),
        ("tls://build-host:8786", True, "tls://build-host:8786"),
        ("build-host", True, "tls://build-host:8786"),
        ("10.0.0.7:99", True, "tls://10.0.0.7:99"),
        ("127.0.0.1", True, "tls://127.0.0.1:8786"),
    ],
)
def test_addresses_that_are_used(word: str, certificates: bool, address: str) -> None:
    assert checked_address(word, certificates=certificates) == address


@pytest.mark.parametrize(
    "word",
    [
        "tcp://10.0.0.7:8786",
        "tcp://build-host",
        "0.0.0.0",
        "tcp://[::]:1",
        "tcp://*:1",
        "127.0.0.1.example.org",
    ],
)
@pytest.mark.parametrize("certificates", [False])
def test_plain_tcp_stays_on_this_machine(word: str, certificates: bool) -> None:
    with pytest.raises(UsageError) as error:
        checked_address(word, certificates=certificates)
    assert "benchgate fleet certificates DIR" in str(error.value)
    assert "use tls://" in str(error.value)


def test_certificates_do_not_make_plain_tcp_good() -> None:
    with pytest.raises(UsageError, match="speaks TLS only"):
        checked_address("tcp://10.0.0.7:8786", certificates=True)


def test_tls_needs_certificates() -> None:
    with pytest.raises(UsageError, match="give --certificates DIR"):
        checked_address("tls://build-host", certificates=False)


@pytest.mark.parametrize(
    "word", ["", "http://x", "tcp://", "a b", "host:99999", "host:1:2", "tcp://h:1/x\n", "tcp://h:\uff11"]
)
def test_no_address_at_all(word: str) -> None:
    with pytest.raises(UsageError, match="is not an address such as"):
        checked_address(word, certificates=True)
