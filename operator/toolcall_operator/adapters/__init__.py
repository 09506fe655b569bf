"""What the ports are made of in the world: one package or module for each outside thing."""
