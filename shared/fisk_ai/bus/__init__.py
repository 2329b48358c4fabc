"""NATS: connections, the private broker, guarded endpoints. The only importer of nats-py."""
