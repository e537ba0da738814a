"""One boot of a mix: its order, its image, its plan for the guest, and the judgement of what it printed."""
