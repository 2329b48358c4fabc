"""Make a Click or Typer program answer ``--fisk-introspect``."""
