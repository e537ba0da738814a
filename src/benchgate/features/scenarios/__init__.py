"""Scenarios: groups of threads with a time line, which find faults of a scheduler."""
