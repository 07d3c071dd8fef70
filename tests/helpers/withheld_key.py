"""The key under which tests hash withheld parties of homes of real documents."""

WITHHELD_KEY = "a key of the tests, long enough for real homes"
