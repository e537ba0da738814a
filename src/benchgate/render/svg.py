"""What the pictures share: colours, markers, style.

Takes places and text; gives elements of an SVG. Does not fail.
"""

from __future__ import annotations

from benchgate.render.escape import xml

COLOURS = ("#2f7ed8", "#d9822b", "#2a9d5c", "#b0479e", "#8a6d3b", "#c23b3b")
MARKERS = ("circle", "square", "diamond")
STYLE = (
    "text{font:12px sans-serif;fill:#777}.axis,.grid{stroke:#888;fill:none}.grid{stroke-opacity:.25}"
    ".ideal{stroke:#888;stroke-dasharray:6 4}.host{stroke:#888;stroke-width:2}"
)


def marker(place: int, x: float, y: float, colour: str, title: str) -> str:
    kind = MARKERS[place % len(MARKERS)]
    inner = f"<title>{xml(title)}</title>" if title else ""
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">{inner}</circle>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if kind == "diamond" else ""
    corner = f'x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"'
    return f'<rect {corner} fill="{colour}"{turn}>{inner}</rect>'
