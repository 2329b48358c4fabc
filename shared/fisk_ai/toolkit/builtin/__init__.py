"""The tools that come with an agent, each switched on by the configuration."""
