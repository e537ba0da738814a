"""Finds in a kernel's image what `observe:` of its system names, and writes it for the plugin."""
