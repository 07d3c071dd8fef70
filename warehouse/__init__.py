"""What is stored and how it is read. Imports nothing else of ours."""
