"""Leaf: cleaning, cutting and encoding text; ids and durations as other programs spell them."""
