"""The pages for people: a static site of a build, written when it is published."""
