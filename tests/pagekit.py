"""Reads a page strictly: balanced tags, unique ids, no active content but its one script, which its policy
names by its digest; and gives its text and parts."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
"""Elements without an end tag, by the HTML standard."""
ACTIVE = {"iframe", "object", "embed", "form", "link", "base", "img", "audio", "video", "use"}


@dataclass
class Page(HTMLParser):
    """`problems` is empty for a well-formed page."""

    problems: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    seen: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    script: str = ""
    style: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.problems.append(f"<{tag}> has an attribute twice: {names}")
        if tag == "script" and attrs:
            self.problems.append(f"<script> with {names}")
        if tag == "meta" and "http-equiv" in names and dict(attrs)["http-equiv"] != "Content-Security-Policy":
            self.problems.append(f"<meta> with {attrs}")
        if "style" in names:
            self.problems.append(f"<{tag}> has a style of its own, which the policy refuses")
        if tag in ACTIVE or any(name.startswith("on") or name == "src" for name in names):
            self.problems.append(f"<{tag}> with {names} is active, or loads something")
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> ends another element, at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            self.script += data
        elif inside == "style":
            self.style += data
        else:
            self.text += data

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.seen if name == tag]

    @property
    def policy(self) -> str:
        """What the page lets a browser do."""
        (result,) = [attribute for attribute in self.attributes("meta") if "http-equiv" in attribute]
        return str(result["content"])

    @property
    def parts(self) -> list[str | None]:
        return [attrs.get("id") for attrs in self.attributes("section")]


def digest(text: str) -> str:
    """As a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def read(text: str) -> Page:
    """The page; AssertionError if it is not well-formed."""
    page = Page()
    page.feed(text)
    page.close()
    assert text.startswith("<!DOCTYPE html>\n")
    assert page.problems == []
    assert page.open == []
    ids = [attrs["id"] for _, attrs in page.seen if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [str(attrs.get("href")) for attrs in page.attributes("a")]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert all(link.startswith("#") for link in links)
    assert len(page.attributes("script")) == 1
    wanted = {f"script-src {digest(page.script)}", f"style-src {digest(page.style)}", "default-src 'none'"}
    assert set(page.policy.split("; ")) == wanted | {"base-uri 'none'", "form-action 'none'"}
    return page
