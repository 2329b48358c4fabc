"""Turn a command-line application into a safe, durable LLM agent.

Where each feature lives is drawn in ``docs/design.md``.
"""
