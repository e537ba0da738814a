"""Outside this machine a fleet speaks TLS, and whoever forgot it is told what to do."""

from __future__ import annotations

import pytest

from benchgate.base.errors import UsageError
from benchgate.fleet.address import checked


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
    assert checked(word, certificates=certificates) == address


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
        checked(word, certificates=certificates)
    assert "benchgate fleet certificates DIR" in str(error.value)
    assert "use tls://" in str(error.value)


def test_certificates_do_not_make_plain_tcp_good() -> None:
    with pytest.raises(UsageError, match="speaks TLS only"):
        checked("tcp://10.0.0.7:8786", certificates=True)


def test_tls_needs_certificates() -> None:
    with pytest.raises(UsageError, match="give --certificates DIR"):
        checked("tls://build-host", certificates=False)


@pytest.mark.parametrize(
    "word", ["", "http://x", "tcp://", "a b", "host:99999", "host:1:2", "tcp://h:1/x\n", "tcp://h:\uff11"]
)
def test_no_address_at_all(word: str) -> None:
    with pytest.raises(UsageError, match="is not an address such as"):
        checked(word, certificates=True)
