"""How a command line is read: by what a toolkit describes, and by nothing else."""
