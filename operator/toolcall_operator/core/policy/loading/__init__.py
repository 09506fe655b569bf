"""From objects to what judges calls: toolkits and toolspecs, checked and compiled once for each version."""
