"""Commands of a fisk application as tools: introspection, argument vectors, execution."""
