"""Records of tasks: what was asked of an agent and what came back, apart from how it was done."""
