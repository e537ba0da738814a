"""Turns the files of a run into verdicts: parses, verifies, measures, decides. It is repeatable."""
