"""The catalog: workloads and systems by name or path, parameters with their ranges."""

from pathlib import Path

import pytest

from benchgate import catalog
from benchgate.data import data_root
from benchgate.errors import CatalogError, UsageError
from benchgate.model import Mode, Workload

YAML = """\
name: spin
mode: thread
source: spin.c
oracle: spin
params:
  size: {default: 100, minimum: 10, maximum: 1_000, about: how much}
  wait: {default: join, choices: [join, spin]}
quick: {size: 10}
"""


@pytest.fixture
def spin(tmp_path: Path) -> Workload:
    (tmp_path / "spin.c").write_text("int x;\n")
    (tmp_path / "spin.yaml").write_text(YAML)
    return catalog.load_workload(str(tmp_path / "spin.yaml"))


def test_a_users_workload_is_a_yaml_file_beside_its_source(spin: Workload, tmp_path: Path) -> None:
    assert (spin.name, spin.mode, spin.source) == ("spin", Mode.THREAD, tmp_path / "spin.c")
    assert spin.params["size"].maximum == 1000
    assert spin.quick == {"size": 10}


def test_parameters_are_filled_in_and_name_the_row_where_they_differ(spin: Workload) -> None:
    assert catalog.fill(spin, {}) == ((("size", 100), ("wait", "join")), "spin")
    assert catalog.fill(spin, {"size": 100})[1] == "spin"
    assert catalog.fill(spin, {"wait": "spin", "size": "1_0"}) == (
        (("size", 10), ("wait", "spin")),
        "spin.size-10.wait-spin",
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"sise": 1}, r"no parameter `sise`; did you mean `size`\?"),
        ({"size": 5}, r"parameter size: `5` is not a whole number 10\.\.1000"),
        ({"size": True}, r"`True` is not a whole number"),
        ({"size": 10.5}, r"`10\.5` is not a whole number"),
        ({"size": "x"}, r"`x` is not a whole number"),
        ({"wait": "sleep"}, r"parameter wait: `sleep` is not one of join, spin"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(
    spin: Workload, given: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        catalog.fill(spin, given)


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("source: spin.c", "source: none.c", r"source: there is no file"),
        ("quick: {size", "quick: {sice", r"quick: `sice` is not one of the parameters"),
        ("oracle: spin\n", "", r"oracle: is missing"),
        ("oracle: spin\n", "oracle: none.py\n", r"bad\.yaml:4: oracle: there is no file .*none\.py"),
        ("mode: thread", "mode: fiber", r"mode: is `fiber`, not one of process, thread"),
        ("default: 100", "default: 1", r"params\.size\.default: is 1, not between 10 and 1000"),
        ("maximum: 1_000, ", "", r"params\.size\.maximum: is missing"),
        ("about: how", "abuot: how", r"abuot: unknown key; did you mean `about`\?"),
    ],
)
def test_a_workload_file_that_does_not_fit_is_refused(
    tmp_path: Path, before: str, after: str, complaint: str
) -> None:
    (tmp_path / "spin.c").write_text("int x;\n")
    path = tmp_path / "bad.yaml"
    path.write_text(YAML.replace(before, after))
    with pytest.raises((CatalogError, UsageError), match=complaint):
        catalog.load_workload(str(path))


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(CatalogError, match=r"system `linus` is not known; did you mean `linux`\? there are "):
        catalog.load_system("linus")
    with pytest.raises(CatalogError, match=r"workload `../primes` is not known|cannot be read"):
        catalog.load_workload("../primes")


@pytest.mark.parametrize("kind", ["systems", "workloads"])
def test_everything_we_ship_loads(kind: str) -> None:
    names = catalog.names(kind)
    assert names
    load = catalog.load_system if kind == "systems" else catalog.load_workload
    for name in names:
        assert load(name).name == name
        assert (data_root() / "fixtures" / kind / f"{name}.yaml").is_file()
