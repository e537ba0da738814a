"""Typed reading of YAML: every error names file, line and key."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.errors import CatalogError
from benchgate.base.yaml import yaml_nodes, yamlfile
from benchgate.base.yaml.keys import (
    Block,
    Choice,
    Commands,
    Either,
    Integer,
    Integers,
    Key,
    Number,
    Pattern,
    Table,
    Text,
    Texts,
    each,
    name,
)

TEXT, INTEGER, EMPTY = Text("a text"), Integer("a number"), Block("nothing")
GROUPED = Pattern("lines", groups=("n",))


def block(**rows: Key) -> Block:
    return Block("a mapping", forms=(rows,))


def section(tmp_path: Path, text: str, **rows: Key) -> yamlfile.Section:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return yamlfile.load(path, block(**rows))


def test_values_are_read_with_their_types(tmp_path: Path) -> None:
    top = section(
        tmp_path,
        "name: abc\ncount: 3_000\nshare: 0.5\nwords: [a, b]\nlist: [1, 2]\n",
        name=TEXT,
        count=INTEGER,
        share=Number("a share"),
        words=Texts("some words"),
        list=Integers("some numbers"),
    )
    assert top.text("name") == "abc"
    assert top.integer("count") == 3000
    assert top.number("share") == 0.5
    assert top.texts("words") == ("a", "b")
    assert top.integers("list") == (1, 2)
    top.close()


def inner(top: yamlfile.Section) -> yamlfile.Section:
    result = top.section("a")
    assert result is not None
    return result


def test_a_key_has_the_default_and_the_limits_of_its_row(tmp_path: Path) -> None:
    rows = {"a": Integer("a number", default=3, high=5), "b": Choice("a word", ("x", "y"), default="y")}
    top = section(tmp_path, "{}", **rows)
    assert (top.integer("a"), top.choice("b")) == (3, "y")
    with pytest.raises(CatalogError, match=r"a: is 6, not between 0 and 5"):
        section(tmp_path, "a: 6", **rows).integer("a")
    assert section(tmp_path, "a: 6", **rows).integer("a", high=6) == 6
    with pytest.raises(CatalogError, match=r"b: is `z`, not one of x, y"):
        section(tmp_path, "b: z", **rows).choice("b")


@pytest.mark.parametrize(
    "read",
    [
        lambda s: s.text("b"),
        lambda s: s.has("b"),
        lambda s: s.integer("a"),
        lambda s: s.section("a"),
        lambda s: s.texts("a"),
        lambda s: s.commands("a"),
    ],
)
def test_what_is_not_in_the_table_cannot_be_read(
    tmp_path: Path, read: Callable[[yamlfile.Section], object]
) -> None:
    top = section(tmp_path, "a: 1\nb: 2\n", a=TEXT)
    with pytest.raises(LookupError, match=r"(a|b): there is no such \w+ in the table"):
        read(top)


def test_a_word_decides_which_keys_there_are(tmp_path: Path) -> None:
    round_: Table = {"kind": Choice("a kind", ("round",)), "size": Integer("a size", default=1)}
    square: Table = {
        "kind": Choice("a kind", ("square",)),
        "size": Integer("a size", default=2),
        "tilt": TEXT,
    }
    path = tmp_path / "file.yaml"
    for word, size in (("round", 1), ("square", 2)):
        path.write_text(f"kind: {word}\n", encoding="utf-8")
        top = yamlfile.load(path, Block("a shape", forms=(round_, square)))
        assert (top.choice("kind"), top.integer("size"), top.knows("tilt")) == (word, size, word == "square")


def test_a_value_may_be_of_several_kinds_and_have_any_name(tmp_path: Path) -> None:
    kinds = Either("a port", (INTEGER, block(guest=INTEGER)))
    ports = inner(section(tmp_path, "a: {web: 80, ssh: {guest: 22}}", a=each("ports", kinds)))
    assert ports.keys() == ("web", "ssh")
    assert (ports.integer("web"), ports.is_mapping("ssh")) == (80, True)
    with ports.optional("ssh") as ssh:
        assert ssh.integer("guest") == 22


@pytest.mark.parametrize(
    ("text", "rows", "read", "message"),
    [
        (
            "b: x\n",
            {"b": INTEGER},
            lambda s: s.integer("b"),
            r":1: b: expected a whole number, found `x`",
        ),
        ("a: 1\n", {"b": TEXT}, lambda s: s.text("b"), r"file\.yaml:1: b: is missing"),
        ("a: 1\na: 2\n", {}, lambda s: s, r"file\.yaml:2: a: is duplicated \(first on line 1\)"),
        ("a: [1]\n", {"a": TEXT}, lambda s: s.text("a"), r"a: expected text"),
        ("a: B\n", {"a": name("a name")}, lambda s: s.text("a"), r"a: `B` is not a name: lower-case letters"),
        ("a: b\n", {"a": EMPTY}, lambda s: s.section("a"), r"a: expected a mapping"),
        (
            "a: tpc\n",
            {"a": Choice("a word", ("tcp", "udp"))},
            lambda s: s.choice("a"),
            r"not one of tcp, udp; did you mean `tcp`\?",
        ),
        ("a: '('\n", {"a": Pattern("lines")}, lambda s: s.pattern("a"), r"is not a regular expression"),
        ("a: x+\n", {"a": GROUPED}, lambda s: s.pattern("a"), r"needs a named group \(\?P<n>"),
        (
            "a:\n  b: x\n",
            {"a": block(b=INTEGER)},
            lambda s: inner(s).integer("b"),
            r"file\.yaml:2: a\.b: expected a whole number",
        ),
        ("a: *x\n", {}, lambda s: s, r"aliases"),
        ("a: 1\nb: &x 2\n", {}, lambda s: s, r"file\.yaml:2: aliases and anchors \(x\): not supported"),
        ("a: !!int 1\n", {}, lambda s: s, r"file\.yaml:1: the tag tag:yaml\.org,2002:int: not supported"),
        ("a: ! x\n", {}, lambda s: s, r"the tag !: not supported"),
        ("a:\n", {"a": TEXT}, lambda s: s.text("a"), r"yaml:1: a: is missing: the key has no value"),
        ("a: ''\n", {"a": GROUPED}, lambda s: s.pattern("a"), r"a: is missing: the key has no value"),
        ("- a\n", {}, lambda s: s, r"expected `key: value` lines"),
        ("a: {b: [\n", {}, lambda s: s, r"is not YAML"),
        ("a: [make]\n", {"a": Commands("how")}, lambda s: s.commands("a"), r"expected commands as lists"),
    ],
)
def test_an_invalid_file_is_refused_by_line_and_key(
    tmp_path: Path, text: str, rows: Table, read: Callable[[yamlfile.Section], object], message: str
) -> None:
    with pytest.raises(CatalogError, match=message):
        read(section(tmp_path, text, **rows))


def test_an_unknown_key_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    top = section(tmp_path, "name: a\nmachne: q35\n", name=TEXT, machine=TEXT)
    top.text("name")
    top.text("machine", "pc")
    with pytest.raises(CatalogError, match=r"file\.yaml:2: machne: unknown key; did you mean `machine`\?"):
        top.close()


def test_an_optional_section_is_closed_and_is_empty_if_it_is_absent(tmp_path: Path) -> None:
    end = block(by=TEXT, codes=Integers("some numbers"))
    rows = {"end": end, "deadlines": block(run_s=Number("seconds", default=2.5))}
    top = section(tmp_path, "end: {by: kill, cods: [1]}\n", **rows)
    with top.optional("deadlines") as words:
        assert words.number("run_s") == 2.5
    with (
        pytest.raises(CatalogError, match=r"file\.yaml:1: end\.cods: unknown key; did you mean `codes`\?"),
        top.optional("end") as words,
    ):
        assert (words.text("by"), words.integers("codes")) == ("kill", ())


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"none\.yaml: cannot be read: No such file"):
        yamlfile.load(tmp_path / "none.yaml", EMPTY)
    (tmp_path / "big.yaml").write_bytes(b"#" * (yaml_nodes.MAX_CHARACTERS + 1))
    with pytest.raises(CatalogError, match="characters, more than 65536"):
        yamlfile.load(tmp_path / "big.yaml", EMPTY)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(CatalogError, match="is not UTF-8"):
        yamlfile.load(tmp_path / "latin.yaml", EMPTY)


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
        assert isinstance(yamlfile.load(path, EMPTY), yamlfile.Section)


@pytest.mark.parametrize("what", ["fifo", "endless device"])
def test_only_a_regular_file_is_read(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file.yaml"
    if what == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(CatalogError, match=r"file\.yaml: cannot be read: it is not a regular file"):
        yamlfile.load(path, EMPTY)


def test_a_large_file_is_refused_before_all_of_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 42)  # sparse; reading it would need as much memory
    with pytest.raises(CatalogError, match=r"file\.yaml: has more than 262144 bytes"):
        yamlfile.load(path, EMPTY)


def test_all_problems_are_collected_in_the_order_of_their_lines(tmp_path: Path) -> None:
    top = section(
        tmp_path,
        "c: x\nb: tpc\na:\n  d: [1]\n  e: 7\nf:\n  h: 1\n  h: 2\n",
        a=block(d=Texts("some words"), e=Integer("a number", default=3, high=5)),
        c=Integer("a number", low=4),
        f=each("any", TEXT),
        g=INTEGER,
        none=TEXT,
    )

    def read() -> None:
        assert inner(top).texts("d") == ("1",)
        assert inner(top).integer("e") == 3
        assert top.text("none", "usual") == "usual"
        assert top.integer("c") == 4
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
    ("text", "row", "read"),
    [
        (f"a: {LONG}\n", name("a name"), lambda s: s.text("a")),
        (f"a: {'9' * 4000}\n", INTEGER, lambda s: s.integer("a")),
        (f"a: {'9' * 6000}\n", INTEGER, lambda s: s.integer("a")),
        (f"a: {LONG}\n", Number("a number"), lambda s: s.number("a")),
        (f"a: {LONG}\n", Choice("a word", ("tcp", "udp")), lambda s: s.choice("a")),
        (f"a: [{LONG}, {LONG}]\n", Integers("some numbers"), lambda s: s.integers("a")),
        (f"a: [1{', x' * 3000}]\n", Integers("some numbers"), lambda s: s.integers("a")),
        (f"a: {LONG}\n", TEXT, lambda s: s.refuse(f"`{s.text('a')}` matches the empty string", "a")),
        (f"? {LONG}\n: 1\n", TEXT, lambda s: s.close()),
        (f"? {LONG}\n: 1\n? {LONG}\n: 1\n", TEXT, lambda s: s),
    ],
)
@pytest.mark.parametrize("collects", [False, True])
def test_a_long_value_is_shortened_where_it_is_shown(
    tmp_path: Path, text: str, row: Key, read: Callable[[yamlfile.Section], object], collects: bool
) -> None:
    def reading() -> None:
        top = section(tmp_path, text, a=row)
        with yamlfile.collecting(top) if collects else contextlib.nullcontext():
            read(top)

    with pytest.raises(CatalogError) as error:
        reading()
    said = str(error.value).removeprefix(str(tmp_path))
    assert len(said) < 250
    assert "..." in said


def test_the_same_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By another path it is read again, because messages name it."""
    asked: list[str] = []
    compose = yaml.compose

    def counted(text: str, **words: Any) -> object:
        asked.append(text)
        return compose(text, **words)

    monkeypatch.setattr(yaml, "compose", counted)
    text = "count: 3  # read once\n"
    for path in ("one.yaml", "one.yaml", "two.yaml"):
        top = yamlfile.parse(text, Path(path), block(count=INTEGER))
        assert top.integer("count", low=0, high=9) == 3
    assert asked == [text] * 2
