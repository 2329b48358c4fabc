"""The Slack gateway: a package that says so until it is built."""
