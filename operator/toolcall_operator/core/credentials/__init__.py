"""Credentials as values: where one is kept, who may use it, what is read there, where it goes."""
