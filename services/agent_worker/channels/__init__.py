"""Where a worker's work comes from."""
