"""Whether a call may be made: what toolkits describe, what toolspecs allow, and the decision that explains itself."""
