"""The durable binding: requests in a work queue, and their reply sets in a stream.

The messages are those of every other binding. Rules: ``docs/reference/turns.md``.
"""
