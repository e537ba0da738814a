"""Attempts on other machines: what is asked of a worker, what it may run, and how its answer is checked."""
