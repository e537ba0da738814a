"""What a guest printed by itself: output, patterns, figures, and when its lines ended."""
