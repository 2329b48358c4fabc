"""The run journal: its records, what is folded from them, and the stores that keep them."""
