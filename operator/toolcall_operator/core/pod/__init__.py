"""The pod of a sandbox: how it is made, what may reach it, and how it looks from outside."""
