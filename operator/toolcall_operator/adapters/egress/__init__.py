"""The only way out to servers outside: whom we may speak to, over which connections, and what comes back."""
