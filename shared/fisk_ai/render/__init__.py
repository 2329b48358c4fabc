"""A conversation as lines on a terminal."""
