"""A fisk application as a set of tools: it describes itself, and its commands are run."""
