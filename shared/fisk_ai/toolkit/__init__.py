"""What a tool is, where tools come from, which are kept, and who may allow a call."""
