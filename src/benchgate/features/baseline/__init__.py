"""Baselines: accepted figures of a session, and the gate that finds what has become worse."""
