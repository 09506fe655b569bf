"""The API server of a Kubernetes cluster, and what the operator keeps of it."""
