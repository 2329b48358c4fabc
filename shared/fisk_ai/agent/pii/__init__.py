"""Keeping personal data and credentials from the model: detectors, and the guard over a run."""
