"""metrics.svg: a panel per metric, a line per system; valid XML without anything active."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.evidence.rows import RunRow
from benchgate.render.files import metrics_svg
from tests.unit.factories import cell, rows, scaled_view, view

SVG = "{http://www.w3.org/2000/svg}"
RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")
LOST = Metric("lost", MetricKind.COUNT, MetricDirection.LESS, "", of="lost")


def measured(cpus: int, rps: float, system: str = "linux") -> list[RunRow]:
    bare = rows(cell(cpus, system=system), [1_000_000] * 3, first=cpus * 10 + len(system))
    return [replace(row, metrics=((RPS, rps + n), (LOST, 0.0))) for n, row in enumerate(bare)]


def drawn(*given: RunRow) -> ElementTree.Element:
    text = metrics_svg.render(view(*given))
    assert text is not None
    return ElementTree.fromstring(text)


def panels(root: ElementTree.Element) -> list[ElementTree.Element]:
    return root.findall(f"{SVG}g")


def test_each_metric_has_a_panel_and_each_system_a_line() -> None:
    root = drawn(
        *measured(1, 100), *measured(2, 190), *measured(1, 110, "kernel"), *measured(2, 230, "kernel")
    )
    titles = [panel.find(f"{SVG}text").text for panel in panels(root)]  # type: ignore[union-attr]
    assert titles == ["primes: rps, requests/s (more is better)", "primes: lost (less is better)"]
    tracks = [path for path in panels(root)[0].iter(f"{SVG}path") if path.get("fill") == "none"]
    assert len(tracks) == 2
    points = [found.text for found in panels(root)[0].iter(f"{SVG}title") if ":" not in str(found.text)]
    assert points == [
        "smp1 101 requests/s", "smp2 191 requests/s", "smp1 111 requests/s", "smp2 231 requests/s",
    ]  # fmt: skip


def legend(panel: ElementTree.Element) -> dict[str | None, str | None]:
    """The class of each name, which sets its colour."""
    names = [one.text for one in panel.findall(f"{SVG}text")][1:]
    return dict(zip(names, (one.get("class") for one in panel.findall(f"{SVG}g")), strict=True))


def test_a_system_has_the_same_colour_in_every_panel() -> None:
    both = [*measured(1, 100), *measured(1, 110, "kernel")]
    other = [
        replace(row, cell=replace(row.cell, workload="other", label="other"), run=row.run + 50)
        for row in reversed(both)
    ]
    result = [legend(panel) for panel in panels(drawn(*both, *other))]
    assert len(result) == 4
    assert [*result[0]] == [*reversed(result[2])]  # the other workload's systems are in the other order
    assert len(set(result[0].values())) == 2
    assert all(one == result[0] for one in result)


def test_a_dash_is_at_the_percentile_of_all_runs_together() -> None:
    p99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)
    given = [replace(row, metrics=((p99, 100.0),)) for row in (*measured(1, 1), *measured(2, 1))]
    text = metrics_svg.render(view(*given, merged={"primes-linux-smp2": {"wake_p99": 200.0}}))
    (panel,) = panels(ElementTree.fromstring(text or ""))
    run = next(one for one in panel.iter(f"{SVG}circle") if one.get("r") == "1.6")  # all runs have 100 ns
    bottom = bottom_of(panel)
    due = bottom - 2 * (bottom - float(run.get("cy", "")))
    (dash,) = [one.get("d", "") for one in panel.iter(f"{SVG}path") if one.get("stroke-width") == "2.5"]
    assert abs(float(dash.partition(" ")[2].partition("h")[0]) - due) < 0.06


def bottom_of(panel: ElementTree.Element) -> float:
    axis = next(one.get("d", "") for one in panel.iter(f"{SVG}path") if one.get("class") == "axis")
    return float(axis.partition("V")[2].partition("H")[0])


def test_twice_the_figure_is_twice_as_high() -> None:
    panel = panels(drawn(*measured(1, 100), *measured(2, 201)))[0]
    drawn_runs = [float(one.get("cy", "")) for one in panel.iter(f"{SVG}circle") if one.get("r") == "1.6"]
    bottom = bottom_of(panel)
    one, two = bottom - drawn_runs[1], bottom - drawn_runs[4]  # the middle runs: 101 and 202
    assert abs(two / one - 2) < 0.01


def test_a_session_without_metrics_has_no_picture() -> None:
    assert metrics_svg.render(scaled_view()) is None


def test_one_system_at_one_count_has_nothing_to_compare() -> None:
    assert metrics_svg.render(view(*measured(2, 100))) is None
    assert metrics_svg.render(view(*measured(2, 100), *measured(2, 100, "kernel"))) is not None


def test_names_of_a_yaml_file_are_escaped() -> None:
    odd = replace(RPS, unit="</text><script>")
    root = drawn(*(replace(row, metrics=((odd, 5.0),)) for row in (*measured(1, 1), *measured(2, 1))))
    assert not list(root.iter(f"{SVG}script"))
    assert "</text><script>" in "".join(root.itertext())
