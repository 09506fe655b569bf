"""What the cluster was last seen to hold, and how that is kept true: `caches.Caches` is the whole of it."""
