"""Linux from its source: a kernel that boots as our guest, with the configuration that a test needs."""
