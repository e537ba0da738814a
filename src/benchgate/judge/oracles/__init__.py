"""Oracles: the process that answers, what it is asked, and what an oracle's file may use."""
