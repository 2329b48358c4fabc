"""The public test kit: what this project and embedders test agents with."""
