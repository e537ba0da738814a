"""Free ports are different from each other; a used one is named with its process."""

from __future__ import annotations

import os
import socket

import pytest

from benchgate.base.errors import HostError
from benchgate.base.system.network import Port
from benchgate.run.ports import choose


def test_free_ports_differ_and_can_be_bound() -> None:
    found = choose({"a": Port(1), "b": Port(2)})
    assert len({*found.values()}) == 2
    for port in found.values():
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))


def test_a_port_that_another_program_uses_is_refused_with_its_name() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(
            HostError, match=rf"host port {port} \(`ports.web`\) is used by .* \(process {os.getpid()}\)"
        ):
            choose({"web": Port(80, port)})
    assert choose({"web": Port(80, port)}) == {"web": port}
