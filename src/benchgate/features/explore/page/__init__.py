"""The page and the table of finds."""
