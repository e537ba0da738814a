"""First contact with an unknown kernel: how it boots, what its console says, and the YAML that says both."""
