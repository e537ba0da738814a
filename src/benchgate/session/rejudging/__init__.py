"""A session judged again from its files: whose programs may run, and which thresholds held."""
