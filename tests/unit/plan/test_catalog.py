"""The catalog: workloads and systems by name or path, parameters with their ranges."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate import hooks
from benchgate.base.cells import Mode
from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.paths import data_root
from benchgate.base.workload.workloads import Workload
from benchgate.hooks import Feature, WorkloadKind
from benchgate.plan import catalog
from benchgate.plan.workloadfile import fill

YAML = """\
name: spin
mode: thread
source: spin.c
oracle: spin.py
params:
  size: {default: 100, minimum: 10, maximum: 1_000, about: how much}
  wait: {default: join, choices: [join, spin]}
quick: {size: 10}
"""


@pytest.fixture
def spin(tmp_path: Path) -> Workload:
    (tmp_path / "spin.c").write_text("int x;\n")
    (tmp_path / "spin.py").write_text("def check(params, reports, result): ...\n")
    (tmp_path / "spin.yaml").write_text(YAML)
    return catalog.load_workload(str(tmp_path / "spin.yaml"))


def test_a_users_workload_is_a_yaml_file_in_the_folder_of_its_source(spin: Workload, tmp_path: Path) -> None:
    assert (spin.name, spin.mode, spin.source) == ("spin", Mode.THREAD, tmp_path / "spin.c")
    assert spin.params["size"].maximum == 1000
    assert spin.quick == {"size": 10}


def test_a_folder_that_is_given_without_a_slash_is_pointed_out(
    spin: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CatalogError, match="or give the path of a YAML file"):
        catalog.load_workload("mine")
    spin.file.rename(folder / "workload.yaml")
    with pytest.raises(CatalogError, match=r"write `\./mine` for the folder"):
        catalog.load_workload("mine")


def test_a_workload_says_what_it_needs_and_who_counts_its_workers(spin: Workload, tmp_path: Path) -> None:
    assert (spin.needs, spin.own_workers, spin.metrics) == ((), False, {})
    (tmp_path / "own.yaml").write_text(YAML + "needs: [park, clock]\nworkers: own\n")
    own = catalog.load_workload(str(tmp_path / "own.yaml"))
    assert (own.needs, own.own_workers) == (("park", "clock"), True)


def test_parameters_are_filled_in_and_changed_ones_name_the_row(spin: Workload) -> None:
    assert fill(spin, {}) == ((("size", 100), ("wait", "join")), "spin")
    assert fill(spin, {"size": 100})[1] == "spin"
    assert fill(spin, {"wait": "spin", "size": "1_0"}) == (
        (("size", 10), ("wait", "spin")),
        "spin.size-10.wait-spin",
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sise": 1}, r"no parameter `sise`; did you mean `size`\?"),
        ({"size": 5}, r"parameter size: `5` is not a whole number in 10\.\.1000"),
        ({"size": True}, r"`True` is not a whole number"),
        ({"size": 10.5}, r"`10\.5` is not a whole number"),
        ({"size": "x"}, r"`x` is not a whole number"),
        ({"wait": "sleep"}, r"parameter wait: `sleep` is not one of join, spin"),
    ],
)
def test_invalid_parameters_are_refused(spin: Workload, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fill(spin, given)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("source: spin.c", "source: none.c", r"source: there is no file"),
        ("quick: {size", "quick: {sice", r"quick: `sice` is not one of the parameters"),
        ("oracle: spin.py\n", "", r"oracle: is missing"),
        ("oracle: spin.py\n", "oracle: none.py\n", r"bad\.yaml:4: oracle: there is no file .*none\.py"),
        ("mode: thread", "mode: fiber", r"mode: is `fiber`, not one of process, thread"),
        ("default: 100", "default: 1", r"params\.size\.default: is 1, not between 10 and 1000"),
        ("maximum: 1_000, ", "", r"params\.size\.maximum: is missing"),
        (
            "mode: thread",
            "mode: thread\nneeds: [parc]",
            r"needs: `parc` is not a service; did you mean",
        ),
        (
            "mode: thread",
            "mode: thread\nneeds: [xyz]",
            r"needs: `xyz` is not a service; a service is one of clock",
        ),
        ("mode: thread", "mode: thread\nneeds: [map, map]", r"bad\.yaml:3: needs: `map` is duplicate"),
        (
            "choices: [join, spin]",
            "choices: [join, spin], needs: {spin: [parc]}",
            r"params\.wait\.needs\.spin: `parc` is not a service",
        ),
        (
            "choices: [join, spin]",
            "choices: [join, spin], needs: {spim: [park]}",
            r"params\.wait\.needs\.spim: `spim` is not one of the choices join, spin",
        ),
        ("mode: thread", "mode: thread\nneeds: park", r"needs: expected a list"),
        ("mode: thread", "mode: thread\nworkers: many", r"workers: is `many`, not one of cpus, own"),
        ("about: how", "abuot: how", r"abuot: unknown key; did you mean `about`\?"),
    ],
)
def test_an_invalid_workload_file_is_refused(tmp_path: Path, before: str, after: str, message: str) -> None:
    (tmp_path / "spin.c").write_text("int x;\n")
    (tmp_path / "spin.py").write_text("def check(params, reports, result): ...\n")
    path = tmp_path / "bad.yaml"
    path.write_text(YAML.replace(before, after))
    with pytest.raises((CatalogError, UsageError), match=message):
        catalog.load_workload(str(path))


@pytest.mark.parametrize("word", ["kernel,fault=half", "kernel.fault=half"])
def test_settings_behind_another_sign_than_a_colon_are_told_how(word: str) -> None:
    with pytest.raises(CatalogError, match=r"settings behind a colon \(`kernel:profile=debug`\)"):
        catalog.load_system(word)


def test_the_error_for_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(CatalogError, match=r"system `linus` is not known; did you mean `linux`\? there are "):
        catalog.load_system("linus")
    with pytest.raises(CatalogError, match=r"/primes: cannot be read"):
        catalog.load_workload("../primes")


KIND = """
def is_one(path):
    return path.read_text().startswith("tune: ")

def load(path, base):
    return replace(base, name=f"primes-{path.stem}", file=path, about=path.read_text().strip())

from dataclasses import replace
"""


def test_a_feature_may_have_a_kind_of_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = WorkloadKind("primes", files="fixtures/gates/*.yaml", place="a_module_of_a_kind_of_workload")
    (tmp_path / f"{kind.place}.py").write_text(KIND)
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "loud.yaml"
    file.write_text("tune: loud\n")
    with pytest.raises(CatalogError, match=r"loud\.yaml:1: name: is missing"):
        catalog.load_workload(str(file))
    assert not catalog.is_built_in_workload("primes-default")
    monkeypatch.setattr(hooks, "shipped", lambda: {"x": Feature(workloads=(kind,))})
    of_a_user = catalog.load_workload(str(file))
    assert (of_a_user.name, of_a_user.about, of_a_user.program) == ("primes-loud", "tune: loud", "primes")
    assert catalog.word_of(of_a_user) == str(file)
    assert "default" in catalog.names("primes")
    assert catalog.is_built_in_workload("primes-default")
    with pytest.raises(CatalogError, match="primes `defaults` is not known; did you mean `default`"):
        catalog.load_workload("primes-defaults")
    assert catalog.load_workload("primes").about != "tune: loud"


@pytest.mark.parametrize(
    ("kind", "load", "files"),
    [
        ("system", catalog.load_system, "fixtures/systems/*.yaml"),
        ("workload", catalog.load_workload, "guest/workloads/*/workload.yaml"),
        ("policy", catalog.load_policy, "fixtures/gates/*.yaml"),
    ],
)
def test_every_built_in_file_loads(kind: str, load: Callable[[str], object], files: str) -> None:
    names = catalog.names(kind)
    assert len(names) == len(list(data_root().glob(files))) > 0
    for name in names:
        assert getattr(load(name), "name", name) == name
