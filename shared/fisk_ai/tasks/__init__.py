"""What agents were asked and what came back: the tasks, and the stores that keep them."""
