"""The ``fisk-ai`` command: one module per subcommand."""
