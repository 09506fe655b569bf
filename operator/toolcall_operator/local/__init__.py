"""The world of an embedded run: manifests from files, and a cluster that is one process."""
