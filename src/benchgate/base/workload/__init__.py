"""A workload as types: its parameters, its metrics, and existing programs."""
