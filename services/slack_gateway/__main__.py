"""Refuse to start: this service is not part of the release yet."""

import sys

sys.exit("slack_gateway: error: the Slack gateway is not built yet; use the agent worker")
