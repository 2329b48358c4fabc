"""The agent-to-agent protocol: messages, reply sets, questions, and a client."""
