"""Sessions side by side: comparison, baselines, regressions."""
