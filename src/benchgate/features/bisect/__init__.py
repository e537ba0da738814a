"""Bisect: the commit of a system's or a workload's source with which a verdict became FAIL."""
