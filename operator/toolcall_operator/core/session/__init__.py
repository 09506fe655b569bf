"""What to do next for a session, and what its status says: `decision.decide` is the whole of it."""
