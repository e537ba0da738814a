"""The page and the terminal's picture of a course."""
