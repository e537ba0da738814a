"""The parts of the page, one module each with TITLE, ORDER and `body(page)`; page.py finds them."""
