"""Features: each folder has all of one, and can be deleted. hooks.py is what the core knows of them."""
