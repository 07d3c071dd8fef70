"""What is made from the sources, one folder a subject."""
