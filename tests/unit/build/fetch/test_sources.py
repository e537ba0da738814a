"""The host's own package source, in both formats of apt, with the suites that benchgate needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture
from benchgate.build.fetch import sources

BOOKWORM = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
NOBLE = {"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_CODENAME": "noble", "UBUNTU_CODENAME": "noble"}

DEB822 = """\
# The distribution's own.
Types: deb deb-src
URIs: http://mirror.example/debian
# a comment inside
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""
EMBEDDED = """\
Types: deb
URIs: https://third.example/linux/debian
Suites: bookworm
Components: stable
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBFit
 -----END PGP PUBLIC KEY BLOCK-----
"""


def wanted(words: dict[str, str]) -> sources.Release:
    release = sources.release(words)
    assert release
    return release


def private(stanzas: list[sources.Stanza], words: dict[str, str]) -> dict[str, str]:
    text = sources.private_sources(stanzas, wanted(words), wanted(words))
    (one,) = sources.parse_deb822(text)
    return dict(one)


class TestRelease:
    @pytest.mark.parametrize(
        ("words", "name", "suites"),
        [
            (BOOKWORM, "debian-bookworm", ("bookworm", "bookworm-backports")),
            ({"ID": "debian", "VERSION_CODENAME": "trixie"}, "debian-trixie", ("trixie",)),
            (NOBLE, "ubuntu-noble", ("noble", "noble-updates", "noble-security")),
            (
                {
                    "ID": "linuxmint",
                    "ID_LIKE": "ubuntu debian",
                    "VERSION_CODENAME": "wilma",
                    "UBUNTU_CODENAME": "noble",
                },
                "ubuntu-noble",
                ("noble", "noble-updates", "noble-security"),
            ),
            (
                {
                    "ID": "linuxmint",
                    "ID_LIKE": "debian",
                    "VERSION_CODENAME": "gigi",
                    "DEBIAN_CODENAME": "trixie",
                },
                "debian-trixie",
                ("trixie",),
            ),
        ],
    )
    def test_debian_ubuntu_and_their_derivatives(
        self, words: dict[str, str], name: str, suites: tuple[str, ...]
    ) -> None:
        assert (wanted(words).name, wanted(words).suites) == (name, suites)

    @pytest.mark.parametrize("words", [{}, {"ID": "fedora", "VERSION_CODENAME": ""}, {"ID": "debian"}])
    def test_other_distributions_give_none(self, words: dict[str, str]) -> None:
        assert sources.release(words) is None


class TestForGuests:
    @pytest.mark.parametrize(
        ("words", "guest", "suites", "package"),
        [
            (BOOKWORM, X86_64, ("bookworm", "bookworm-backports"), "linux-image-cloud-amd64"),
            (BOOKWORM, AARCH64, ("bookworm", "bookworm-backports"), "linux-image-cloud-arm64"),
            (BOOKWORM, RISCV64, ("trixie",), "linux-image-riscv64"),
            ({"ID": "debian", "VERSION_CODENAME": "trixie"}, RISCV64, ("trixie",), "linux-image-riscv64"),
        ],
    )
    def test_debian(
        self, words: dict[str, str], guest: Architecture, suites: tuple[str, ...], package: str
    ) -> None:
        release = sources.for_guests(wanted(words), guest)
        assert (release.suites, release.linux, release.architecture) == (suites, package, guest.debian)

    def test_the_private_source_names_the_architecture(self) -> None:
        release = sources.for_guests(wanted(BOOKWORM), RISCV64)
        text = sources.private_sources(sources.parse_deb822(DEB822), release, wanted(BOOKWORM))
        (one,) = sources.parse_deb822(text.replace("riscv64", "amd64"))
        assert "Architectures: riscv64\n" in text
        assert one["suites"] == "trixie"

    def test_ubuntu_has_other_architectures_elsewhere(self) -> None:
        with pytest.raises(FetchError, match=r"no packages of aarch64: give .* --linux-kernel PATH"):
            sources.for_guests(wanted(NOBLE), AARCH64)


class TestParse:
    def test_comments_and_disabled_stanzas_are_skipped(self) -> None:
        first, second = sources.parse_deb822(DEB822)
        assert first["uris"] == "http://mirror.example/debian"
        assert first["suites"] == "bookworm bookworm-updates"
        assert second["suites"] == "bookworm-security"

    def test_an_embedded_key_keeps_its_lines(self) -> None:
        (one,) = sources.parse_deb822(EMBEDDED)
        assert one["signed-by"].splitlines()[1:3] == [" -----BEGIN PGP PUBLIC KEY BLOCK-----", " ."]

    def test_lines_with_options(self) -> None:
        text = (
            "# deb http://off.example/debian bookworm main\n"
            "deb-src http://mirror.example/debian bookworm main\n"
            "deb [ arch=amd64,i386 signed-by=/usr/share/keyrings/Own.gpg ] "
            "http://mirror.example/debian/ bookworm main contrib # own\n"
            "deb [arch=arm64] http://ports.example/debian bookworm main\n"
            "deb http://mirror.example/flat ./\n"
            "nonsense\n"
        )
        (one,) = sources.parse_lines(text)
        assert one == {
            "types": "deb",
            "uris": "http://mirror.example/debian/",
            "suites": "bookworm",
            "components": "main contrib",
            "architectures": "amd64 i386",
            "signed-by": "/usr/share/keyrings/Own.gpg",
        }

    def test_a_folder_in_both_formats(self, tmp_path: Path) -> None:
        (tmp_path / "sources.list.d").mkdir()
        (tmp_path / "sources.list").write_text("deb http://a.example/debian bookworm main\n")
        (tmp_path / "sources.list.d" / "b.sources").write_text(DEB822)
        (tmp_path / "sources.list.d" / "c.list.disabled").write_text(
            "deb http://c.example/debian bookworm main\n"
        )
        result = [one["uris"] for one in sources.read(tmp_path)]
        assert result == [
            "http://a.example/debian",
            "http://mirror.example/debian",
            "http://mirror.example/debian-security",
        ]

    def test_a_missing_folder_has_no_sources(self, tmp_path: Path) -> None:
        assert sources.read(tmp_path / "nothing") == []


class TestPrivateSources:
    def test_the_distributions_source_gets_the_wanted_suites(self) -> None:
        one = private(sources.parse_deb822(DEB822), BOOKWORM)
        assert one["uris"] == "http://mirror.example/debian"
        assert one["suites"] == "bookworm bookworm-backports"
        assert one["types"] == "deb"
        assert one["signed-by"] == "/usr/share/keyrings/debian-archive-keyring.gpg"
        assert one["architectures"] == "amd64"

    def test_other_sources_with_the_same_suite_are_ignored(self) -> None:
        others = (
            "deb https://apt.vendor.example bookworm main\n"
            "deb https://third.example/linux/debian bookworm stable\n"
        )
        own = sources.parse_lines("deb http://mirror.example/debian bookworm main\n")
        assert (
            private([*sources.parse_lines(others), *own], BOOKWORM)["uris"] == "http://mirror.example/debian"
        )

    def test_the_archives_key_counts_more_than_the_path(self) -> None:
        text = (
            "deb http://vendor.example/debian bookworm main\n"
            "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
            "mirror+file:/etc/apt/mirrors/list bookworm main\n"
        )
        assert private(sources.parse_lines(text), BOOKWORM)["uris"] == "mirror+file:/etc/apt/mirrors/list"

    def test_ubuntu(self) -> None:
        text = (
            "deb http://mirror.example/ubuntu/ noble main restricted universe\n"
            "deb http://mirror.example/ubuntu/ noble-updates main restricted universe\n"
        )
        one = private(sources.parse_lines(text), NOBLE)
        assert one["suites"] == "noble noble-updates noble-security"
        assert one["components"] == "main restricted universe"

    def test_a_source_without_keys_is_recognized_by_its_updates_suite(self) -> None:
        text = (
            "deb [signed-by=/usr/share/keyrings/vendor.gpg] https://vendor.example/ubuntu noble main\n"
            "deb https://ppa.example/somebody/ppa/ubuntu noble main\n"
            "deb mirror+file:/etc/apt/apt-mirrors.txt noble main restricted\n"
            "deb mirror+file:/etc/apt/apt-mirrors.txt noble-updates main restricted\n"
        )
        one = private(sources.parse_lines(text), NOBLE)
        assert one["uris"] == "mirror+file:/etc/apt/apt-mirrors.txt"

    def test_ubuntu_sources_of_a_new_installation(self) -> None:
        text = (
            "Types: deb\nURIs: http://mirror.example/ubuntu/\nSuites: noble noble-updates noble-backports\n"
            "Components: main universe restricted multiverse\n"
            "Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg\n\n"
            "## security updates\nTypes: deb\nURIs: http://security.example/ubuntu/\n"
            "Suites: noble-security\nComponents: main universe restricted multiverse\n"
            "Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg\n"
        )
        one = private(sources.parse_deb822(text), NOBLE)
        assert one["uris"] == "http://mirror.example/ubuntu/"
        assert one["suites"] == "noble noble-updates noble-security"

    def test_debian_is_found_by_an_alias(self) -> None:
        one = private(sources.parse_lines("deb http://mirror.example/debian stable main\n"), BOOKWORM)
        assert one["suites"] == "bookworm bookworm-backports"
        with pytest.raises(FetchError):
            private(sources.parse_lines("deb http://mirror.example/ubuntu stable main\n"), NOBLE)

    def test_another_release_uses_the_same_source(self) -> None:
        trixie = wanted({"ID": "debian", "VERSION_CODENAME": "trixie"})
        text = sources.private_sources(sources.parse_deb822(DEB822), trixie, wanted(BOOKWORM))
        assert "Suites: trixie\n" in text

    @pytest.mark.parametrize("text", ["", "deb http://mirror.example/debian trixie main\n"])
    def test_a_missing_source_is_an_error_that_names_the_suite(self, text: str) -> None:
        with pytest.raises(FetchError, match=r"no package source with the suite bookworm.*--qemu PATH"):
            private(sources.parse_lines(text), BOOKWORM)
