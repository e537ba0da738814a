"""Exploration: which interleavings are tried, what is a find, and how a find is made small."""
