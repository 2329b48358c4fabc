"""Notes a model keeps for its later runs: a store with limits, and one run's authority over it."""
