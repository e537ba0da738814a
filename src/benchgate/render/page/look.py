"""How pages look: the style of a page, and for each system a colour, a marker and a dash, the same in all
panels.

Takes the number of a look; gives numbers, marks and legends. The first 12 looks differ in
colour; without colour, marker and dash differ in the first 35. The style is constant: dark and light by the
reader's setting, phone, screen and print. Pictures use the classes of `PICTURES`, which a picture in a file
of its own carries with it. Does not fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchgate.render.page.html import Html, tag

LIGHT = (
    *("#0b62c4", "#b34700", "#0a7d4f", "#a3208c", "#7a5c00", "#c21f3a"),
    *("#4b3fbf", "#00778a", "#5d6d00", "#7d3c16", "#5f6670", "#d0246e"),
)
DARK = (
    *("#6cb2ff", "#ff9f55", "#4fd69c", "#ef85dc", "#e0bd4a", "#ff7f8a"),
    *("#a9a0ff", "#45d0e5", "#c3d44a", "#e69a74", "#b9c0ca", "#ff86b8"),
)
DASHES = (None, "7 3", "2 3", "9 3 2 3", "4 2")
_CORNERS = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    "diamond": ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
    "down": ((0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    "hexagon": tuple((1.15 * math.cos(n * math.pi / 3), 1.15 * math.sin(n * math.pi / 3)) for n in range(6)),
    "star": tuple(
        (
            (1.4 if n % 2 == 0 else 0.6) * math.sin(n * math.pi / 5),
            -(1.4 if n % 2 == 0 else 0.6) * math.cos(n * math.pi / 5),
        )
        for n in range(10)
    ),
}
MARKERS = ("circle", *_CORNERS)


def colour_class(look: int) -> str:
    """The class that sets `color`; pictures draw with `currentColor`."""
    return f"s{look % len(LIGHT)}"


def dash(look: int) -> str | None:
    return DASHES[look % len(DASHES)]


def marker(  # noqa: PLR0913 - keyword arguments
    look: int, x: float, y: float, size: float = 4, *, hollow: bool = False, title: str = ""
) -> Html:
    """The mark of a look. `hollow` sets apart what is no sample."""
    kind = MARKERS[look % len(MARKERS)]
    paint = {"fill": "none", "stroke": "currentColor"} if hollow else {"fill": "currentColor"}
    inner = tag("title", title) if title else None
    if kind == "circle":
        return tag("circle", inner, cx=x, cy=y, r=size, **paint)
    corners = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in _CORNERS[kind])
    return tag("polygon", inner, points=corners, **paint)


def sample(look: int) -> Html:
    """The small picture of a legend: a piece of the line with its marker."""
    line = tag("path", d="M1 8H31", stroke="currentColor", stroke_width=1.5, stroke_dasharray=dash(look))
    parts = (line, marker(look, 16, 8, 5))
    return tag(
        "svg", *parts, viewBox="0 0 32 16", width=32, height=16, class_=colour_class(look), aria_hidden="true"
    )


def legend(entries: Sequence[tuple[int, str]]) -> Html:
    """The list of names, which stands beside the picture; long names break and are never cut."""
    lines = (tag("li", sample(look), tag("span", name, data_place_name=look)) for look, name in entries)
    return tag("ul", *lines, class_="legend")


# ---- the style of a page


def _colours(given: tuple[str, ...]) -> str:
    return "".join(f"--s{number}:{colour};" for number, colour in enumerate(given))


_LIGHT = (
    "--ground:#fff;--panel:#f5f6f8;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--link:#0b62c4;"
    "--pass:#0a6b3f;--fail:#b3152b;--maybe:#7a5200;--none:#57606a;--edge:#8c959f80;"
    "--pass-ground:#d5efdf;--fail-ground:#fbd9dd;--maybe-ground:#f7e6bd;" + _colours(LIGHT)
)
_DARK = (
    "--ground:#0f1318;--panel:#181e26;--ink:#e6e9ee;--soft:#9aa5b1;--rule:#333c47;--link:#6cb2ff;"
    "--pass:#4fd69c;--fail:#ff7f8a;--maybe:#e8bd53;--none:#9aa5b1;--edge:#c3cbd480;"
    "--pass-ground:#123a29;--fail-ground:#4a1a20;--maybe-ground:#40310e;" + _colours(DARK)
)
VARIABLES = f":root{{color-scheme:light dark;{_LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"

PICTURES = (
    "".join(f".s{number}{{color:var(--s{number})}}" for number in range(len(LIGHT)))
    + "svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .strong{fill:var(--ink);font-weight:600}"
    ".axis{stroke:var(--soft);fill:none}.grid{stroke:var(--rule);fill:none}"
    ".ideal{stroke:var(--soft);stroke-dasharray:6 4;fill:none}"
    ".host{stroke:var(--soft);stroke-width:4;opacity:.55}"
    "svg .tiny{font-size:8px}svg .halted{fill:var(--rule);fill-opacity:.5}"
    ".bad{color:var(--fail)}.void{color:var(--maybe)}.soft{color:var(--soft)}"
    ".limit{stroke:var(--fail);stroke-width:1.5;stroke-dasharray:3 2;fill:none}"
    ".queue{fill:var(--soft);fill-opacity:.45}"
    ".wake{stroke:var(--ink);stroke-width:.7;opacity:.45;fill:none}.tip{fill:var(--ink);opacity:.7}.waits{fill:currentColor;fill-opacity:.15;stroke:currentColor}"
)

PAGE = """
*{box-sizing:border-box}
html{scroll-padding-top:5rem}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
overflow-wrap:anywhere}
header,main,footer,nav{max-width:1240px;margin:0 auto;padding:0 16px}
h1{font-size:1.4rem;line-height:1.25;margin:16px 0 6px}
header p{margin:0 0 8px;font-size:.875rem}
h2{font-size:1.2rem;margin:24px 0 8px;border-bottom:1px solid var(--rule);padding-bottom:4px}
h3{font-size:1rem;margin:16px 0 6px}
a{color:var(--link)}
[hidden]{display:none!important}
.soft,caption,footer{color:var(--soft)}
nav{position:sticky;top:0;z-index:3;background:var(--ground);border-bottom:1px solid var(--rule);
padding-top:6px;padding-bottom:6px;display:flex;flex-wrap:wrap;gap:4px 16px;font-size:.875rem}
nav ul{list-style:none;margin:0;padding:0;display:flex;gap:2px 14px;overflow-x:auto;white-space:nowrap;
flex:1 1 auto}
nav a{text-decoration:none}
nav a[aria-current]{color:var(--ink);font-weight:600;border-bottom:2px solid var(--ink)}
.tools{display:flex;gap:6px;align-items:center;min-width:0}
input,select,button{font:inherit;color:inherit;background:var(--panel);border:1px solid var(--rule);
border-radius:4px;padding:1px 6px;min-width:0}
.tools input{width:9rem}.tools select{max-width:9rem}
.wide,.tall{margin:8px 0 16px}
.wide{overflow-x:auto;background:
linear-gradient(to right,var(--ground) 30%,transparent) left/36px 100% no-repeat local,
linear-gradient(to left,var(--ground) 30%,transparent) right/36px 100% no-repeat local,
linear-gradient(to right,var(--edge),transparent) left/14px 100% no-repeat scroll,
linear-gradient(to left,var(--edge),transparent) right/14px 100% no-repeat scroll}
.tall .wide{max-height:80vh;overflow:auto;margin:0}
.wide:focus-visible,pre:focus-visible{outline:2px solid var(--link)}
table{border-collapse:separate;border-spacing:0;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:4px 0;position:sticky;left:0;min-width:min(22rem,80vw)}
.wide>table>caption{max-width:calc(100vw - 48px)}
th,td{padding:4px 10px 4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule);
overflow-wrap:normal}
.reason{display:inline-block;min-width:min(20rem,70vw);white-space:normal;overflow-wrap:anywhere}
thead th{color:var(--soft);font-weight:600}
.tall thead th{position:sticky;top:0;background:var(--ground);z-index:1;vertical-align:bottom}
tbody th,thead tr:first-child th:first-child{position:sticky;left:0;background:var(--ground);z-index:1;
border-right:1px solid var(--rule);padding-right:8px}
.tall thead th:first-child{z-index:2}
tbody th{font-weight:600;max-width:min(20rem,44vw);overflow-wrap:break-word}
tbody th+td{padding-left:10px}
th button{border:0;background:none;padding:0;font-weight:600;text-align:inherit;cursor:pointer}
th[aria-sort=ascending] button::after{content:" \\25b2"}
th[aria-sort=descending] button::after{content:" \\25bc"}
.figure{text-align:right;white-space:nowrap}
.matrix{line-height:1.3}
.matrix th,.matrix td{padding:3px 4px;white-space:nowrap;vertical-align:middle}
.matrix tbody th{padding-right:10px}
.matrix thead th{padding:2px 6px;text-align:center}.matrix thead th:first-child[rowspan]{text-align:left}
.matrix .first{border-left:2px solid var(--rule)}
.matrix td a{display:block;padding:2px 6px;border-radius:4px;text-decoration:none;color:var(--ink);
text-align:right;background:var(--panel);border:1px solid transparent}
.matrix td a:hover,.matrix td a:focus-visible{border-color:var(--link)}
.matrix .pass a{background:var(--pass-ground)}
.matrix .fail a,.matrix .invalid a{background:var(--fail-ground)}
.matrix .inconclusive a{background:var(--maybe-ground)}
.matrix .measured a,.matrix .verified a,.matrix .skip a{color:var(--soft)}
.matrix .control a{border:1px dashed var(--soft)}
.matrix .off{opacity:.25}
.pass b,.key.pass{color:var(--pass)}.fail b,.key.fail,.invalid b,.key.invalid{color:var(--fail)}
.inconclusive b,.key.inconclusive{color:var(--maybe)}
.problem{border-left:5px solid var(--maybe);background:var(--panel);padding:6px 12px;margin:8px 0;
border-radius:4px}
.problem.fail,.problem.invalid{border-color:var(--fail)}
.problem h3{margin:0 0 2px;font-weight:400}.problem h3 a{font-weight:600}.problem p{margin:2px 0}
.problem pre{background:var(--ground)}
.row{border-bottom:1px solid var(--rule);margin:0;padding:4px 0}
.row[open]{padding-bottom:16px}
.row>summary{color:var(--ink)}
.parts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:8px 16px;
margin-top:8px}
.parts .whole{grid-column:1/-1;min-width:0}.parts h3{margin:8px 0 4px}
.parts details{margin:4px 0}
.warning{color:var(--maybe);font-size:.8125rem;margin:2px 0}
.badge{border:1px dashed var(--soft);border-radius:4px;padding:0 5px;margin-left:6px;font-size:.75rem}
.ratios{display:inline-block;margin-left:14px;font-size:.875rem;font-variant-numeric:tabular-nums}
pre,code{font:.8125rem/1.45 ui-monospace,monospace}
pre{background:var(--panel);padding:8px 10px;border-radius:4px;margin:6px 0;white-space:pre-wrap;
overflow-wrap:anywhere}
.command code,td code{user-select:all}
.copy{font:.75rem/1.3 system-ui,sans-serif;margin-left:8px;cursor:pointer;color:var(--soft)}
td:not(.figure){min-width:6.5rem}.matrix td{min-width:0}
td code{white-space:nowrap}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:16px}
figure{margin:0 0 12px;min-width:0;max-width:560px}
figure.whole{max-width:none}figure.whole svg{width:100%;min-width:560px}
figure.broad{max-width:none}figure.broad svg{width:100%;min-width:900px}
figcaption{color:var(--ink);font-weight:600;font-size:.875rem}
figure>svg{display:block;width:100%;height:auto}
figure .wide svg{display:block}
.legend{list-style:none;margin:8px 0;padding:0;display:flex;flex-wrap:wrap;gap:2px 18px;font-size:.875rem}
.legend li{display:flex;gap:6px;align-items:flex-start;min-width:0}
.legend svg{flex:none;margin-top:3px}
.legend span{color:var(--ink)}
.word{font-weight:700;white-space:nowrap;color:var(--none)}
.word.pass,.word.ok{color:var(--pass)}
.word.fail,.word.invalid,.word.crashed{color:var(--fail)}
.word.inconclusive,.word.void,.word.partial,.word.unverified{color:var(--maybe)}
.head{border-left:8px solid var(--none);padding-left:12px}
.head.pass{border-color:var(--pass)}
.head.fail,.head.invalid{border-color:var(--fail)}
.head.inconclusive,.head.partial,.head.unverified{border-color:var(--maybe)}
.verdicts{list-style:none;padding:0;margin:6px 0;font-size:.875rem}
.verdicts li{margin:3px 0}
details{margin:8px 0}
summary{cursor:pointer;color:var(--link)}
dl{display:grid;grid-template-columns:fit-content(16rem) minmax(0,1fr);gap:2px 14px;margin:8px 0}
dt{color:var(--soft)}
dd{margin:0;min-width:0}
@media(min-width:601px){.tall tbody th{white-space:nowrap}
.long{white-space:normal;display:inline-block;min-width:12rem}}
@media(max-width:600px){dl{grid-template-columns:minmax(0,1fr)}dd{margin-bottom:6px}h1{font-size:1.15rem}
nav ul{flex-basis:100%}.tools input{width:7rem}.tools select{max-width:7rem}.ratios{display:block}
html{scroll-padding-top:6rem}}
@media print{nav,.copy{display:none}.wide,.tall .wide{overflow:visible;max-height:none}
figure.broad svg{min-width:0}section,figure{break-inside:avoid}}
"""

WHOLE = VARIABLES + PICTURES + PAGE
