"""The outside, as the ports want it: each subpackage is one adapter and knows none of the others."""
