"""Decisions about tool calls: values in, values out, no input or output."""
