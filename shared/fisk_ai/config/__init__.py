"""Leaf: ``agent.yaml``, read strictly, prepared once, validated for what a process will do."""
