"""Typed reading of YAML: every error names file, line and key."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.errors import CatalogError
from benchgate.base.yaml import yaml_text, yamlfile


def section(tmp_path: Path, text: str) -> yamlfile.Section:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return yamlfile.load(path)


def test_values_are_read_with_their_types(tmp_path: Path) -> None:
    top = section(tmp_path, "name: abc\ncount: 3_000\nshare: 0.5\nwords: [a, b]\nlist: [1, 2]\n")
    assert top.text("name") == "abc"
    assert top.integer("count") == 3000
    assert top.number("share") == 0.5
    assert top.texts("words") == ("a", "b")
    assert top.integers("list") == (1, 2)
    top.close()


def inner(top: yamlfile.Section) -> yamlfile.Section:
    found = top.section("a")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("a: 1\nb: x\n", lambda s: s.integer("b"), r"file\.yaml:2: b: expected a whole number, found `x`"),
        ("a: 1\n", lambda s: s.text("b"), r"file\.yaml:1: b: is missing"),
        ("a: 1\na: 2\n", lambda s: s, r"file\.yaml:2: a: is duplicated \(first on line 1\)"),
        ("a: 7\n", lambda s: s.integer("a", high=5), r"file\.yaml:1: a: is 7, not between 0 and 5"),
        ("a: [1]\n", lambda s: s.text("a"), r"a: expected text"),
        ("a: b\n", lambda s: s.section("a"), r"a: expected a mapping"),
        ("a: tpc\n", lambda s: s.choice("a", ("tcp", "udp")), r"not one of tcp, udp; did you mean `tcp`\?"),
        ("a: '('\n", lambda s: s.pattern("a"), r"is not a regular expression"),
        ("a: x+\n", lambda s: s.pattern("a", groups=("n",)), r"needs a named group \(\?P<n>"),
        (
            "a:\n  b: x\n",
            lambda s: inner(s).integer("b"),
            r"file\.yaml:2: a\.b: expected a whole number",
        ),
        ("a: *x\n", lambda s: s, r"aliases"),
        ("a: 1\nb: &x 2\n", lambda s: s, r"file\.yaml:2: aliases and anchors \(x\): not supported"),
        ("a: !!int 1\n", lambda s: s, r"file\.yaml:1: the tag tag:yaml\.org,2002:int: not supported"),
        ("a: ! x\n", lambda s: s, r"the tag !: not supported"),
        ("a:\n", lambda s: s.text("a"), r"file\.yaml:1: a: is missing: the key has no value"),
        ("a: ''\n", lambda s: s.pattern("a", groups=("n",)), r"a: is missing: the key has no value"),
        ("- a\n", lambda s: s, r"expected `key: value` lines"),
        ("a: {b: [\n", lambda s: s, r"is not YAML"),
        ("a: [make]\n", lambda s: s.commands("a"), r"expected commands as lists"),
    ],
)
def test_an_invalid_file_is_refused_by_line_and_key(
    tmp_path: Path, text: str, read: Callable[[yamlfile.Section], object], message: str
) -> None:
    with pytest.raises(CatalogError, match=message):
        read(section(tmp_path, text))


def test_an_unknown_key_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    top = section(tmp_path, "name: a\nmachne: q35\n")
    top.text("name")
    top.text("machine", "pc")
    with pytest.raises(CatalogError, match=r"file\.yaml:2: machne: unknown key; did you mean `machine`\?"):
        top.close()


def test_an_optional_section_is_closed_and_is_empty_if_it_is_absent(tmp_path: Path) -> None:
    top = section(tmp_path, "end: {by: kill, cods: [1]}\n")
    with top.optional("deadlines") as words:
        assert words.number("run_s", 2.5) == 2.5
    with (
        pytest.raises(CatalogError, match=r"file\.yaml:1: end\.cods: unknown key; did you mean `codes`\?"),
        top.optional("end") as words,
    ):
        assert (words.text("by"), words.integers("codes")) == ("kill", ())


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"none\.yaml: cannot be read: No such file"):
        yamlfile.load(tmp_path / "none.yaml")
    (tmp_path / "big.yaml").write_bytes(b"#" * (yaml_text.MAX_CHARACTERS + 1))
    with pytest.raises(CatalogError, match="characters, more than 65536"):
        yamlfile.load(tmp_path / "big.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(CatalogError, match="is not UTF-8"):
        yamlfile.load(tmp_path / "latin.yaml")


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"file\.yaml:1: is nested more than 16 deep"):
        section(tmp_path, "a: " + "[" * 20_000)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_section_or_a_catalog_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "f.yaml"
    path.write_bytes(raw)
    with contextlib.suppress(CatalogError):
        assert isinstance(yamlfile.load(path), yamlfile.Section)


@pytest.mark.parametrize("what", ["fifo", "endless device"])
def test_only_a_regular_file_is_read(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file.yaml"
    if what == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(CatalogError, match=r"file\.yaml: cannot be read: it is not a regular file"):
        yamlfile.load(path)


def test_a_large_file_is_refused_before_all_of_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 42)  # sparse; reading it would need as much memory
    with pytest.raises(CatalogError, match=r"file\.yaml: has more than 262144 bytes"):
        yamlfile.load(path)


def test_all_problems_are_collected_in_the_order_of_their_lines(tmp_path: Path) -> None:
    top = section(tmp_path, "c: x\nb: tpc\na:\n  d: [1]\n  e: 7\nf:\n  h: 1\n  h: 2\n")

    def read() -> None:
        assert inner(top).texts("d") == ("1",)
        assert inner(top).integer("e", 3, high=5) == 3
        assert top.text("none", "usual") == "usual"
        assert top.integer("c", low=4) == 4
        top.integer("g")
        top.plain("f")

    with pytest.raises(CatalogError) as refused, yamlfile.collecting(top):
        read()
    path = tmp_path / "file.yaml"
    assert str(refused.value).splitlines() == [
        f"{path}: 5 problems:",
        f"  {path}:1: c: expected a whole number, found `x`",
        f"  {path}:1: g: is missing",
        f"  {path}:2: b: unknown key; known: a, c, f, g, none",
        f"  {path}:5: a.e: is 7, not between 0 and 5",
        f"  {path}:8: f.h: is duplicated (first on line 7)",
    ]


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"a: {LONG}\n", lambda s: s.name("a")),
        (f"a: {'9' * 4000}\n", lambda s: s.integer("a")),
        (f"a: {'9' * 6000}\n", lambda s: s.integer("a")),
        (f"a: {LONG}\n", lambda s: s.number("a")),
        (f"a: {LONG}\n", lambda s: s.choice("a", ("tcp", "udp"))),
        (f"a: [{LONG}, {LONG}]\n", lambda s: s.integers("a")),
        (f"a: [1{', x' * 3000}]\n", lambda s: s.integers("a")),
        (f"a: {LONG}\n", lambda s: s.refuse(f"`{s.text('a')}` matches the empty string", "a")),
        (f"? {LONG}\n: 1\n", lambda s: s.close()),
        (f"? {LONG}\n: 1\n? {LONG}\n: 1\n", lambda s: s),
    ],
)
@pytest.mark.parametrize("collects", [False, True])
def test_a_long_value_is_shortened_where_it_is_shown(
    tmp_path: Path, text: str, read: Callable[[yamlfile.Section], object], collects: bool
) -> None:
    def reading() -> None:
        top = section(tmp_path, text)
        with yamlfile.collecting(top) if collects else contextlib.nullcontext():
            read(top)

    with pytest.raises(CatalogError) as error:
        reading()
    said = str(error.value).removeprefix(str(tmp_path))
    assert len(said) < 250
    assert "..." in said
