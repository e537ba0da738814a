"""Tables for people: Markdown and terminal."""
