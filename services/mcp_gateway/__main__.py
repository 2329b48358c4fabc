"""Refuse to start: this service is not part of the release yet."""

import sys

sys.exit("mcp_gateway: error: the MCP gateway is not built yet; use the agent worker")
