"""Error messages of QEMU 10.0.2, of 7.2 and of builds without plugins."""

from __future__ import annotations

import pytest

from benchgate.host.plugin_api import read_refusal


@pytest.mark.parametrize(
    ("text", "version", "reason"),
    [
        (
            "qemu-system-x86_64: Could not load plugin /p.so: plugin requires API version 999, but this QEMU "
            "supports only up to version 4\n",
            4,
            "plugin API 4",
        ),
        ("qemu-system-x86_64: -plugin /p.so: invalid option\n", None, "built without plugins"),
        ("qemu: TCG plugin support not enabled in this build\n", None, "built without plugins"),
        ("", None, "plugins unusable: QEMU printed no message"),
        (
            "qemu: Could not load plugin \x1b[1m/p.so: bad ELF\n",
            None,
            "plugins unusable: qemu: Could not load",
        ),
    ],
)
def test_a_refusal_is_read(text: str, version: int | None, reason: str) -> None:
    found = read_refusal(text)
    assert found.version == version
    assert found.reason.startswith(reason)
    assert found.reason.isprintable()
