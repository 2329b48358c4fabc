"""Taking work from channels, running it in slots, and draining."""
