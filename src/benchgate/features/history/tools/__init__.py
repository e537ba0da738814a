"""For developers: a history of a million runs."""
