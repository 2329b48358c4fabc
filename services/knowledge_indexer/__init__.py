"""The knowledge indexer: a package that says so until it is built."""
