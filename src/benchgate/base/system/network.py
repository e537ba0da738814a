"""Ports of a guest that the host can reach, and QEMU's options for them. Pure.

Takes the ports of a system and the host's port for each; gives words for QEMU's command line, and reads the
host's ports back from one. The guest reaches nothing: neither this host nor another one. Reading fails with
ValueError if the command line has other ports than the system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.system.script import PORT

CARD = "virtio-net-pci"
MOST_PORTS = 16
_FORWARD = re.compile(r",hostfwd=tcp:127\.0\.0\.1:(\d+)-:(\d+)")


@dataclass(frozen=True, slots=True)
class Port:
    guest: int
    host: int = 0
    """The host's port; 0 for any free one."""


def network_options(ports: Mapping[str, Port], hosts: Mapping[str, int], card: str) -> tuple[str, ...]:
    """A network card whose only traffic is from the host to these ports; nothing without ports."""
    if not ports:
        return ()
    forward = "".join(f",hostfwd=tcp:127.0.0.1:{hosts[name]}-:{port.guest}" for name, port in ports.items())
    return ("-netdev", f"user,id=net0,restrict=on{forward}", "-device", f"{card},netdev=net0,romfile=")


def host_ports(argv: Sequence[str], ports: Mapping[str, Port]) -> dict[str, int]:
    """Maps each of the system's ports to the host's port."""
    found = [pair for word in argv for pair in _FORWARD.findall(word)] if ports else []
    if [guest for _, guest in found] != [str(port.guest) for port in ports.values()]:
        raise ValueError("the command line has other host ports than the system's YAML")
    return {name: int(host) for name, (host, _) in zip(ports, found, strict=True)}


def port_values(hosts: Mapping[str, int]) -> dict[str, int]:
    """The values of `{port.NAME}`, and of `{port}` if there is one port only."""
    named = {f"{PORT}.{name}": port for name, port in hosts.items()}
    if len(hosts) == 1:
        named[PORT] = next(iter(hosts.values()))
    return named
