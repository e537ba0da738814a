"""Pictures of threads: valid XML, what is drawn where, told without colour, and never too large."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from xml.etree import ElementTree

from benchgate.judge.accounts.thread_sketch import (
    LaneBox,
    RowBox,
    SketchRow,
    ThreadSketch,
    WakeArrow,
    sketch,
)
from benchgate.judge.accounts.thread_timeline import MOST_BOXES
from benchgate.judge.accounts.threads.books import QueueStep, ThreadSlice, ThreadWake, WastedStretch
from benchgate.render.page.look import colour_class
from benchgate.render.page.pictures.thread_lanes import (
    HUES,
    LEFT,
    MOST_COLOURS,
    PLOT,
    WIDTH,
    ThreadPaint,
    by_cpu,
    by_thread,
)
from tests.unit.judge.accounts.test_thread_sketch import book, books

LONG = ThreadPaint("kworker/u65:12-events", 0)
PAINTS = {1: ThreadPaint("bench #1", 0), 2: ThreadPaint("<b>&", 1), 3: ThreadPaint("late", None), 4: LONG}
NOTHING = ((), ())


def seen(**changes: object) -> ThreadSketch:
    """888 columns of a unit each, in 8,880 ns, on two CPUs."""
    facts: dict[str, object] = {
        "lanes": NOTHING,
        "wasted": NOTHING,
        "queues": (),
        "rows": (),
        "arrows": (),
        "crossing": 0,
    }
    return ThreadSketch(length=8880, columns=PLOT, **{**facts, **changes})  # type: ignore[arg-type]


def drawn(of: ThreadSketch) -> ElementTree.Element:
    return ElementTree.fromstring(by_cpu(of, PAINTS, "label"))


def paths(root: ElementTree.Element, kind: str) -> list[str]:
    """The paths of this class, or in a group of it."""
    groups = [*root.iter("g"), root]
    inside = [path for group in groups if group.get("class") == kind for path in group.iter("path")]
    return [
        path.get("d", "") for path in [*inside, *(p for p in root.iter("path") if p.get("class") == kind)]
    ]


def words(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter("text") if text.get("class") == "strong"]


def test_a_thread_is_a_box_on_its_cpu_with_its_name_where_it_fits() -> None:
    root = drawn(seen(lanes=((LaneBox(1, 0, 100, 4), LaneBox(2, 100, 110, 4)), (LaneBox(1, 200, 300, 4),))))
    (path,) = paths(root, colour_class(HUES[0]))
    assert re.findall(r"h(\d+)", path) == ["100", "100"]
    assert path.startswith(f"M{LEFT} ")
    assert f"M{LEFT + 200} " in path
    assert words(root) == ["bench #1", "bench #1"]
    titles = [title.text for title in root.iter("title")]
    assert titles == ["bench #1", "<b>&"]


def test_a_busy_share_is_a_height_and_touching_boxes_of_one_height_are_one() -> None:
    lane = (LaneBox(1, 0, 10, 2), LaneBox(1, 10, 20, 4), LaneBox(1, 20, 30, 4))
    (path,) = paths(drawn(seen(lanes=(lane, ()))), colour_class(HUES[0]))
    assert re.findall(r"v-([\d.]+)h(\d+)", path) == [("7", "10"), ("14", "20")]


def test_all_threads_without_a_colour_are_grey_and_neighbours_differ() -> None:
    root = drawn(seen(lanes=((LaneBox(3, 0, 10, 4), LaneBox(8, 10, 20, 4), LaneBox(9, 20, 30, 4)), ())))
    greys = [path for group in root.iter("g") if group.get("class") == "soft" for path in group.iter("path")]
    assert len({path.get("fill-opacity") for path in greys}) == len(greys) == 2


def test_each_coloured_thread_looks_different() -> None:
    paints = [ThreadPaint("t", colour) for colour in range(MOST_COLOURS)]
    assert len({(paint.kind, paint.opacity) for paint in paints}) == MOST_COLOURS
    assert not {paint.kind for paint in paints} & {colour_class(5), colour_class(10), "bad", "soft"}


def test_wasted_time_has_a_bar_below_the_lane_and_says_so() -> None:
    root = drawn(seen(wasted=((), ((5, 25),))))
    tint, bar = paths(root, "bad")
    assert "h20" in tint
    assert "h20" in bar
    assert any("idle while a thread" in (title.text or "") for title in root.iter("title"))
    assert paths(drawn(seen()), "bad") == []


def test_the_longest_queue_is_the_whole_height_and_none_is_no_skyline() -> None:
    (path,) = paths(drawn(seen(queues=(((0, 1), (10, 2)), ()))), "queue")
    floor, one, two = (float(y) for y in re.findall(r"[ V]([\d.]+)", path)[:3])
    assert (floor - one, floor - two) == (5, 10)
    assert paths(drawn(seen()), "queue") == []


def test_an_arrow_leads_from_the_waker_to_the_other_cpu() -> None:
    root = drawn(seen(arrows=(WakeArrow(4440, 0, 1), WakeArrow(0, 1, 0))))
    (shafts,) = paths(root, "wake")
    lines = re.findall(r"M(\d+) (\d+)V(\d+)", shafts)
    assert [int(x) for x, _, _ in lines] == [LEFT + PLOT // 2, LEFT]
    (down, up) = [(int(begin), int(end)) for _, begin, end in lines]
    assert down[0] < down[1]
    assert up[0] > up[1]
    lane = 14
    assert abs(down[0] - down[1]) == abs(up[0] - up[1]) < 2 * lane  # between the lanes, and not through them
    (tips,) = paths(root, "tip")
    assert [float(tall) for tall in re.findall(r"l-2.5 (-?\d+)", tips)] == [-5, 5]


def test_a_thread_s_row_tells_running_waiting_and_blocked_apart() -> None:
    boxes = (RowBox(0, 100, 4, 0, 7), RowBox(100, 150, 0, 4, None), RowBox(300, 310, 4, 0, 6))
    root = ElementTree.fromstring(by_thread(seen(rows=(SketchRow(1, 0, 888, boxes),)), PAINTS, "label"))
    lines, ran, waits = (path for group in root.iter("g") for path in group.iter("path"))
    assert f"H{LEFT + PLOT}" in lines.get("d", "")
    assert re.findall(r"h(\d+)", ran.get("d", "")) == ["100", "10"]
    assert (waits.get("class"), re.findall(r"h(\d+)", waits.get("d", ""))) == ("waits", ["50"])
    assert [mark.text for mark in root.iter("tspan")] == ["7"]  # the other one is too narrow


def test_a_long_name_is_cut_in_the_picture_and_whole_in_its_title() -> None:
    root = ElementTree.fromstring(by_thread(seen(rows=(SketchRow(4, 0, 888, ()),)), PAINTS, "label"))
    name = next(text for text in root.iter("text") if text.find("title") is not None)
    assert name.findtext("title") == LONG.name
    assert "".join(name.itertext()).removeprefix(LONG.name).endswith("..")


def test_the_label_and_the_names_are_text() -> None:
    for made in (by_cpu(seen(), PAINTS, "<a> & b"), by_thread(seen(), PAINTS, "<a> & b")):
        root = ElementTree.fromstring(made)
        assert root.get("aria-label") == "<a> & b"
        assert str(root.get("viewBox")).startswith(f"0 0 {WIDTH} ")
    assert "<b>" not in by_cpu(seen(lanes=((LaneBox(2, 0, 500, 4),), ())), PAINTS, "x")


def busy_schedule(cpus: int, count: int) -> tuple[Sequence[ThreadSlice], int]:
    """Every CPU is always busy with another thread, for times that no column divides."""
    chance, slices, end = random.Random(1), [], 0
    for cpu in range(cpus):
        time = 1000
        for _ in range(count // cpus):
            length = chance.randrange(1, 2000)
            slices.append(ThreadSlice(chance.randrange(1, 60), cpu, time, time + length, "running"))
            time += length
        end = max(end, time)
    return slices, end - 1000


def test_a_picture_of_32_cpus_and_100_000_slices_stays_below_150_kb() -> None:
    slices, length = busy_schedule(32, 100_000)
    given = books(
        *slices,
        length=length,
        vcpus=32,
        threads=tuple(book(number, running=number, end=1000 + length) for number in range(1, 60)),
        wakes=tuple(ThreadWake(1000 + n, 1, n % 32, 2, (n * 7) % 32, ()) for n in range(10_000)),
        queues=tuple(QueueStep(n % 32, 1000 + n * length // 50_000, n % 6) for n in range(50_000)),
        wasted=tuple(
            WastedStretch(n % 32, 1000 + n * length // 20_000, 1001 + n * length // 20_000, (1,), None, False)
            for n in range(20_000)
        ),
    )
    made = sketch(given, MOST_BOXES)
    paints = {number: ThreadPaint(f"bench #{number}", number % 12) for number in range(1, 60)}
    for picture in (by_cpu(made, paints, "x"), by_thread(made, paints, "x")):
        assert 10_000 < len(picture) < 150_000
        ElementTree.fromstring(picture)
