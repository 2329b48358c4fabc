"""Endpoints that answer a request at once, without a run: the agent's card, and its tools."""
