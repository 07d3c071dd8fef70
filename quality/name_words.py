"""How lists of words are written in the data of this folder: upper case, no accents, no dots."""

Phrase = tuple[str, ...]


def phrases(text: str) -> frozenset[Phrase]:
    """Read phrases that are parted by a bar."""
    return frozenset(tuple(phrase.split()) for phrase in text.split("|"))


def words(text: str) -> frozenset[str]:
    """Read words that are parted by blanks."""
    return frozenset(text.split())
