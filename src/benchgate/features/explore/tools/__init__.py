"""For developers: the schema of explored.json, and how often faults are found."""
