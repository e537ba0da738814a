"""A study of mixed workloads: plans its runs, makes those that are missing, and writes what they say."""
