"""QEMU's refusals, as QEMU 10.0.2, 7.2 and builds without plugins print them."""

from __future__ import annotations

import pytest

from benchgate.host.plugin_api import read_refusal


@pytest.mark.parametrize(
    ("text", "version", "says"),
    [
        (
            "qemu-system-x86_64: Could not load plugin /p.so: plugin requires API version 999, but this QEMU "
            "supports only up to version 4\n",
            4,
            "plugin API 4",
        ),
        ("qemu-system-x86_64: -plugin /p.so: invalid option\n", None, "built without plugins"),
        ("qemu: TCG plugin support not enabled in this build\n", None, "built without plugins"),
        ("", None, "plugins unusable: QEMU said nothing"),
        (
            "qemu: Could not load plugin \x1b[1m/p.so: bad ELF\n",
            None,
            "plugins unusable: qemu: Could not load",
        ),
    ],
)
def test_a_refusal_is_read(text: str, version: int | None, says: str) -> None:
    found = read_refusal(text)
    assert found.version == version
    assert found.reason.startswith(says)
    assert found.reason.isprintable()
