"""The decision on one call: its rules, what they see of the call, and what people are told of it."""
