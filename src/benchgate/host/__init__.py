"""This host: topology, accelerators, capacity, noise, the measuring lock, the envelope."""
