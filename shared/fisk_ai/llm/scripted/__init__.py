"""The scripted provider: a YAML file plays the model, for rehearsals, demos and tests."""
