"""Sandboxes reached through their supervisor: frames, a connection, the port on top of it, the embedded kind."""
