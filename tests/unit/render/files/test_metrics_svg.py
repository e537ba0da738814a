"""metrics.svg: a panel per metric, a line per system; valid XML without anything active."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from benchgate.base.metrics import Better, Metric, MetricKind
from benchgate.evidence.rows import RunRow
from benchgate.render.files import metrics_svg
from tests.unit.factories import cell, rows, scaled_view, view

SVG = "{http://www.w3.org/2000/svg}"
RPS = Metric("rps", MetricKind.RATE, Better.MORE, "requests/s", of="done")
LOST = Metric("lost", MetricKind.COUNT, Better.LESS, "", of="lost")


def measured(cpus: int, rps: float, system: str = "linux") -> list[RunRow]:
    bare = rows(cell(cpus, system=system), [1_000_000] * 3, first=cpus * 10 + len(system))
    return [replace(row, metrics=((RPS, rps + n), (LOST, 0.0))) for n, row in enumerate(bare)]


def drawn(*given: RunRow) -> ElementTree.Element:
    text = metrics_svg.render(view(*given))
    assert text is not None
    return ElementTree.fromstring(text)


def test_each_metric_has_a_panel_and_each_system_a_line() -> None:
    root = drawn(
        *measured(1, 100), *measured(2, 190), *measured(1, 110, "kernel"), *measured(2, 230, "kernel")
    )
    panels = root.findall(f"{SVG}g")
    titles = [panel.find(f"{SVG}text").text for panel in panels]  # type: ignore[union-attr]
    assert titles == ["primes: rps, requests/s (more is better)", "primes: lost (less is better)"]
    tracks = [path for path in panels[0].iter(f"{SVG}path") if path.get("fill") == "none"]
    assert len(tracks) == 1 + 2  # the axes and a line for each system
    points = [found.text for found in panels[0].iter(f"{SVG}title")]
    assert points == [
        "smp1 101 requests/s", "smp2 191 requests/s", "smp1 111 requests/s", "smp2 231 requests/s",
    ]  # fmt: skip


def test_a_system_has_the_same_colour_in_every_panel() -> None:
    both = [*measured(1, 100), *measured(1, 110, "kernel")]
    other = [replace(row, workload="other", label="other", run=row.run + 50) for row in reversed(both)]
    found = []
    for panel in drawn(*both, *other).findall(f"{SVG}g"):
        names = [text.text for text in panel.findall(f"{SVG}text")][-2:]
        found.append(dict(zip(names, (one.get("fill") for one in keys_of(panel)), strict=True)))
    assert len(found) == 4
    assert [*found[0]] == [*reversed(found[2])]  # the other workload's systems are in the other order
    assert all(one == found[0] for one in found)


def keys_of(panel: ElementTree.Element) -> list[ElementTree.Element]:
    """The signs before the systems' names; those of the points have titles."""
    return [one for one in panel if one.tag in (f"{SVG}circle", f"{SVG}rect") and not len(one)]


def test_a_dash_is_at_the_percentile_of_all_runs_together() -> None:
    p99 = Metric("wake_p99", MetricKind.PERCENTILE, Better.LESS, "ns", of="wake", at=99.0)
    given = [replace(row, metrics=((p99, 100.0),)) for row in measured(2, 1)]
    text = metrics_svg.render(view(*given, merged={"primes-linux-smp2": {"wake_p99": 200.0}}))
    (panel,) = ElementTree.fromstring(text or "").findall(f"{SVG}g")
    assert panel.find(f"{SVG}text").text == "primes: wake_p99 (less is better; dash: all runs merged)"  # type: ignore[union-attr]
    axis = next(one.get("d", "") for one in panel.iter(f"{SVG}path") if one.get("class") == "axis")
    bottom = float(axis.partition("V")[2].partition("H")[0])
    circle = next(panel.iter(f"{SVG}circle"))
    x, y = float(circle.get("cx", "")), bottom - 2 * (bottom - float(circle.get("cy", "")))
    dashes = [one.get("d") for one in panel.iter(f"{SVG}path") if one.get("stroke-width") == "2"]
    assert f"M{x - 8:.1f} {y:.1f}H{x + 8:.1f}" in dashes


def test_twice_the_figure_is_twice_as_high() -> None:
    root = drawn(*measured(1, 100), *measured(2, 201))
    (panel, _) = root.findall(f"{SVG}g")
    circles = [float(one.get("cy", "")) for one in panel.iter(f"{SVG}circle")][:2]
    axis = next(one.get("d", "") for one in panel.iter(f"{SVG}path") if one.get("class") == "axis")
    bottom = float(axis.partition("V")[2].partition("H")[0])
    assert (bottom - circles[1]) / (bottom - circles[0]) == 2


def test_a_session_without_metrics_has_no_picture() -> None:
    assert metrics_svg.render(scaled_view()) is None


def test_names_of_a_yaml_file_are_escaped() -> None:
    odd = replace(RPS, unit="</text><script>")
    root = drawn(*(replace(row, metrics=((odd, 5.0),)) for row in measured(1, 1)))
    assert not list(root.iter(f"{SVG}script"))
