"""Flame graphs: where the instructions of the window went, by call stack, of each cell that was recorded.

Takes a PageView; gives the part, or None without any recording. Takes instructions by call stack; gives the
picture as an SVG that is valid XML: width is instructions, height is the depth of the stack. The kernel's
functions have a colour of their own, and every box says its function and share, as text where it fits, and
when pointed at. What would be too narrow to see is left out. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from benchgate.insn.profile import KERNEL, Stacks
from benchgate.judge.judged_run import Recording
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.look import PICTURES, VARIABLES
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import cut_of, figure, more, scrolling, table

TITLE = "Flame graphs"
ORDER = 90
IS_WHY = False

MOST_BYTES = 250_000
MOST_BOXES = 500
MOST_FUNCTIONS = 12
HEADS = ("function", "own instructions", "own", "with its callees")
TOLD = (
    "Instructions of the window by call stack, of all CPUs together, as the instruction clock counted them "
    "in the first run of each cell. The outermost function is lowest. Widths are instructions, so halted "
    "time has no width. Functions of the kernel have another colour, and `_[k]` in the table."
)


def about(page: PageView) -> str:
    return TOLD if page.view.flames else ""


def body(page: PageView) -> Html | None:
    if not page.view.flames:
        return None
    shown = [(f"{flame.folder}/stacks.folded", _recording(flame)) for flame in page.view.flames]
    drawn, cut = page.fitting(shown, MOST_BYTES)
    return join([*map(Html, drawn), cut_of(cut)])


def _recording(flame: Recording[Stacks]) -> Html:
    total = sum(flame.content.values()) or 1
    name = f"{flame.cell}, run {flame.run:04}"
    label = f"Flame graph of {name}; the table below has the same functions"
    wide = scrolling(f"flame graph of {name}", picture(flame.content, label, MOST_BOXES))
    caption = f"{total:,} instructions; folded stacks for other programs: {flame.folder}/stacks.folded"
    rows = [
        [function, f"{own:,}", f"{own / total:.2%}", f"{whole / total:.2%}"]
        for function, own, whole in by_function(flame.content, MOST_FUNCTIONS)
    ]
    functions = table("The functions that executed most instructions themselves", HEADS, rows)
    return more(name, figure(wide, caption), functions)


# ---- the picture

WIDTH, ROW = 1040, 17
NARROWEST = 0.8
MOST_DRAWN, MOST_ROWS = 1500, 60
LETTER = 6.2
"""The width of one letter, about."""
USER, IN_KERNEL = "s2", "s1"


@dataclass(slots=True)
class _Node:
    total: int = 0
    below: dict[str, _Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _FrameBox:
    name: str
    left: float
    wide: float
    row: int
    count: int


def picture(stacks: Stacks, label: str, most_boxes: int = MOST_DRAWN) -> Html:
    root = _tree(stacks)
    boxes = sorted(_boxes(root, root.total), key=lambda box: -box.wide)[:most_boxes]
    rows = max((box.row for box in boxes), default=0) + 1
    height = rows * ROW + 4
    drawn = (_drawn(box, height, root.total) for box in sorted(boxes, key=lambda box: (box.row, box.left)))
    view = f"0 0 {WIDTH} {height}"
    return tag("svg", *drawn, role="img", aria_label=label, viewBox=view, width=WIDTH, height=height)


def standalone(stacks: Stacks, label: str) -> str:
    """The picture as a file of its own."""
    inside = str(picture(stacks, label))
    head = '<svg xmlns="http://www.w3.org/2000/svg" '
    rules = tag("style", Html(VARIABLES + PICTURES + "svg{background:var(--ground)}"))
    begin, end = inside.split(">", 1)
    return f"{head}{begin.removeprefix('<svg ')}>{tag('title', label)}{rules}{end}\n"


def _tree(stacks: Stacks) -> _Node:
    root = _Node()
    for stack, count in sorted(stacks.items()):
        node = root
        node.total += count
        for name in stack:
            node = node.below.setdefault(name, _Node())
            node.total += count
    return root


def _boxes(root: _Node, total: int) -> Iterator[_FrameBox]:
    """Walks the tree without recursion, because a stack may be deep."""
    waiting = [(root, 0, 0)]
    while waiting:
        node, begin, row = waiting.pop()
        for name, below in node.below.items():
            left, wide = WIDTH * begin / total, WIDTH * below.total / total
            if wide >= NARROWEST and row < MOST_ROWS:
                yield _FrameBox(name, left, wide, row, below.total)
                waiting.append((below, begin, row + 1))
            begin += below.total


def _drawn(box: _FrameBox, height: int, total: int) -> Html:
    name, y = box.name.removesuffix(KERNEL), height - (box.row + 1) * ROW
    where = "kernel" if box.name.endswith(KERNEL) else "user"
    told = tag("title", f"{name} ({where}): {box.count:,} instructions, {box.count / total:.2%}")
    size: dict[str, float] = {"width": max(box.wide - 0.5, 0.4), "height": ROW - 1}
    opacity = 0.3 if box.row % 2 else 0.42
    rect = tag("rect", told, x=box.left, y=y, fill="currentColor", fill_opacity=opacity, **size)
    return tag("g", rect, _said(name, box, y), class_=IN_KERNEL if where == "kernel" else USER)


def _said(name: str, box: _FrameBox, y: float) -> Html | None:
    """A name that does not fit ends with `..`; the title has all of it."""
    letters = int((box.wide - 6) / LETTER)
    if letters < 3:
        return None
    short = name if len(name) <= letters else f"{name[: letters - 2]}.."
    return tag("text", short, x=box.left + 3, y=y + 12, class_="strong")


def by_function(stacks: Stacks, most: int = 20) -> list[tuple[str, int, int]]:
    """The functions in which most instructions were executed: name, its own, and with all that it called."""
    own: dict[str, int] = {}
    whole: dict[str, int] = {}
    for stack, count in stacks.items():
        own[stack[-1]] = own.get(stack[-1], 0) + count
        for name in set(stack):
            whole[name] = whole.get(name, 0) + count
    order = sorted(own, key=lambda name: (-own[name], name))
    return [(name, own[name], whole[name]) for name in order[:most]]
