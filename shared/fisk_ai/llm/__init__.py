"""The vendor-free conversation model, the provider contract and its registry."""
