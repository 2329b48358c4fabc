"""Refuse to start: this service is not part of the release yet."""

import sys

sys.exit("knowledge_indexer: error: the knowledge indexer is not built yet; use the agent worker")
