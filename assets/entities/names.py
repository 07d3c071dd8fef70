"""When two names are the same name: written alike but for case, accents and legal form.

A legal form spelled out is its abbreviation; two different forms are two organisations. No
word is left out, moved or guessed: likeness is not sameness.
"""

import re
import unicodedata

# The short form, and how it is spelled out, both as they are after folding.
_FORMS = {
    "ag": ("aktiengesellschaft",),
    "bv": ("besloten vennootschap",),
    "cc": ("close corporation",),
    "co": ("company",),
    "corp": ("corporation",),
    "gie": ("groupement dinteret economique",),
    "gmbh": ("gesellschaft mit beschrankter haftung",),
    "inc": ("incorporated",),
    "jsc": ("joint stock company",),
    "llc": ("limited liability company", "limited liability co"),
    "llp": ("limited liability partnership",),
    "ltd": ("limited",),
    "ltda": ("limitada", "lda"),
    "ltee": ("limitee",),
    "npc": ("non profit company", "nonprofit company"),
    "nv": ("naamloze vennootschap",),
    "plc": ("public limited company", "public limited co"),
    "pty": ("proprietary",),
    "pvt": ("private",),
    "sa": ("societe anonyme", "sociedad anonima", "sociedade anonima"),
    "sae": ("societe anonyme egyptienne",),
    "sarl": ("societe a responsabilite limitee",),
    "sas": ("societe par actions simplifiee", "sociedad por acciones simplificada"),
    "soc": ("state owned company",),
    "srl": ("sociedad de responsabilidad limitada", "societa a responsabilita limitata"),
    "suarl": ("societe unipersonnelle a responsabilite limitee",),
}
_SHORT = {spelled: short for short, each in _FORMS.items() for spelled in each}
_SPELLED = re.compile(
    r"(?<!\S)(?:" + "|".join(sorted(_SHORT, key=lambda each: (-len(each), each))) + r")(?!\S)"
)
_INITIALS = re.compile(r"(?<!\w)(?:\w\.){2,}(?!\w)|(?<!\w)(?:\w\.)+\w(?!\w)")
_LETTERS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
_NO_WORD = re.compile(r"[^a-z0-9]+")
_DROPPED = dict.fromkeys(map(ord, "'’‘ʼ`´"))
# Marks from this class on are accents; those below are letters of their own in their script.
_ACCENT = 200


def normalise_name(name: str) -> str | None:
    """Give a name as it compares; None where nothing of it is left."""
    text = _unaccented(name).casefold().translate(_DROPPED).replace("&", " and ")
    text = _INITIALS.sub(_joined, text) if "." in text else text
    words = " ".join(_spaced(text).split())
    words = _LETTERS.sub(lambda hit: hit[0].replace(" ", ""), words)
    return _SPELLED.sub(lambda hit: _SHORT[hit[0]], words) or None


def _joined(initials: re.Match[str]) -> str:
    return initials[0].replace(".", "") + " "


def _unaccented(name: str) -> str:
    if name.isascii():
        return name
    parts = unicodedata.normalize("NFKD", name)
    bare = "".join(each for each in parts if unicodedata.combining(each) < _ACCENT)
    return unicodedata.normalize("NFC", bare)


def _spaced(text: str) -> str:
    """Put a blank for what is neither letter, mark nor digit."""
    if text.isascii():
        return _NO_WORD.sub(" ", text)
    return "".join(each if each.isalnum() or _is_mark(each) else " " for each in text)


def _is_mark(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] == "M"
