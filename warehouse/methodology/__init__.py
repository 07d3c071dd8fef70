"""How derived values are worked out: the rules as data, and the pages that explain them."""
