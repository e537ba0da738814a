"""Accounts for the reports: where the time and memory of runs went, and what stands out."""
