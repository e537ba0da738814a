"""What installed distributions add under a group, and that it is cheap to find that there is nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchgate.base import entry_points
from benchgate.base.entry_points import InstalledName

GROUP = "benchgate.testing"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of sys.path, beside one that does not exist."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "gone"), str(tmp_path)])
    return tmp_path


def install(site: Path, name: str, text: str, *, has_metadata: bool = True) -> None:
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text(text)
    if has_metadata:
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")


def test_names_are_in_order_with_their_distributions(site: Path) -> None:
    install(site, "two", f"[{GROUP}]\nb = two.b\na = two.a\n[other]\nc = two.c\n")
    install(site, "one", f"[{GROUP}]\nb = one.b\n")
    assert entry_points.of_group(GROUP) == (
        InstalledName("a", "two.a", "two", "1.0"),
        InstalledName("b", "one.b", "one", "1.0"),
        InstalledName("b", "two.b", "two", "1.0"),
    )


def test_a_distribution_without_metadata_is_named_so(site: Path) -> None:
    install(site, "bare", f"[{GROUP}]\na = bare.a\n", has_metadata=False)
    (one,) = entry_points.of_group(GROUP)
    assert (one.name, one.distribution) == ("a", "a distribution without a name")


def test_a_file_that_cannot_be_read_fails(site: Path) -> None:
    install(site, "broken", f"[{GROUP}]\nno equals sign\n")
    with pytest.raises(ValueError, match="its lines must be NAME = MODULE"):
        entry_points.of_group(GROUP)


@pytest.mark.parametrize("group", [GROUP, "console_scripts"])
def test_metadata_is_imported_only_for_a_group_that_is_there(group: str, tmp_path: Path) -> None:
    install(tmp_path, "one", "[console_scripts]\na = one:main\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from benchgate.base import entry_points as e; "
    )
    code += f"print(len(e.of_group({group!r})) > 0, 'importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ("False False\n" if group == GROUP else "True True\n")
