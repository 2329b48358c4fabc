"""The loop: one run, one iteration, one tool call, and everything around them."""
