"""The strict reader of YAML: every value with its line, every problem at once."""
