"""The host reaches a guest's ports, and the guest reaches nothing."""

from __future__ import annotations

import pytest

from benchgate.base.system.network import Port, host_ports, network_options, port_values

PORTS = {"web": Port(80), "ssh": Port(22, 2222)}


def test_the_card_is_restricted_to_the_ports() -> None:
    assert network_options(PORTS, {"web": 40001, "ssh": 2222}, "e1000") == (
        *(
            "-netdev",
            "user,id=net0,restrict=on,hostfwd=tcp:127.0.0.1:40001-:80,hostfwd=tcp:127.0.0.1:2222-:22",
        ),
        *("-device", "e1000,netdev=net0,romfile="),
    )
    assert network_options({}, {}, "e1000") == ()


def test_the_ports_of_a_run_are_read_back_from_its_command_line() -> None:
    hosts = {"web": 40001, "ssh": 2222}
    argv = ("qemu", *network_options(PORTS, hosts, "e1000"))
    assert host_ports(argv, PORTS) == hosts
    assert host_ports(("qemu",), {}) == {}


@pytest.mark.parametrize("ports", [{"web": Port(80)}, {"ssh": Port(22), "web": Port(80)}])
def test_a_command_line_with_other_ports_is_refused(ports: dict[str, Port]) -> None:
    argv = network_options(PORTS, {"web": 1, "ssh": 2}, "e1000")
    with pytest.raises(ValueError, match="other host ports than the system's YAML"):
        host_ports(argv, ports)


def test_a_single_port_has_a_short_name() -> None:
    assert port_values({"web": 7}) == {"port.web": 7, "port": 7}
    assert port_values({"web": 7, "ssh": 8}) == {"port.web": 7, "port.ssh": 8}
