"""The ToolCall operator: one execution of one tool, carried from manifest to status."""
