"""The agent worker: introspection, tools, the gate, the loop and the journal in one process."""
