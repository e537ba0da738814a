"""For developers: the schema of a baseline, and how often its gate is right."""
