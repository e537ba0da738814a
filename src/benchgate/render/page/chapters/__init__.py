"""The parts of the page, one module each with TITLE, ORDER and `body(view)`; page.py finds them."""
