"""The script of a page, which is constant, and what a browser may do with a page: show it, and run the
script.

Gives two texts. Whatever a page holds, a browser runs no other script of it, takes no other style, and loads
nothing for it. Does not fail.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

SCRIPT = (Path(__file__).parent / "script.js").read_text(encoding="ascii")


def policy(script: str, style: str) -> str:
    """The content security policy of a page with this script and this style."""
    rules = ("default-src 'none'", "base-uri 'none'", "form-action 'none'")
    return "; ".join([*rules, f"script-src {_source(script)}", f"style-src {_source(style)}"])


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
