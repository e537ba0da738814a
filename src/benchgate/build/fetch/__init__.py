"""Fetches QEMU and the Linux image from this host's own package source, as pinned inputs."""
