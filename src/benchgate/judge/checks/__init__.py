"""Checks that a run is what it claims: what its files say twice, its smokes, its threads."""
