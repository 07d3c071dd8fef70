"""How it is run: definitions, jobs, the command."""
