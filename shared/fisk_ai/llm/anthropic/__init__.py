"""The Anthropic provider; its SDK is imported when the provider is built, not before."""
