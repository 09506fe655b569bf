"""The token broker: makes credentials of references, and keeps those it made for as long as they are good."""
