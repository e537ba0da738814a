"""The kinds of picture, one module each: pure functions from plain data to SVG."""
