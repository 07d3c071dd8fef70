"""What can be wrong with an installation: looked at, and told in plain words."""
