"""Which of many texts may hold a contact, found by one automaton over all of them.

It only rules out: what it finds is looked at by ``suspect``, one by one. A text that is not
all ASCII is always looked at, since the automaton knows no letters but these.
"""

import pyarrow as pa
import pyarrow.compute as pc

from quality.free_text import suspect

_POSSIBLE = (
    r"[^\x00-\x7f]|@|conta|liaison|attention|attn|consultas|responsable|nquir|queries"
    r"|[(\[{]at[)\]}]|arroba| dot |(?:^|[^a-z0-9])(?:mrs?|ms|miss|dra?|sra?|srta|prof|adv|engr|att)"
    r"(?:[^a-z0-9]|$)|(?:manager|leader|supervisor|user|buyer|by|atencion|atencao|a/c|responsavel"
    r"|esclarecimentos|renseignements|interlocuteur|encargad[oa]|att)[\s\x0b\x1c-\x1f]*:"
    r"|\d[\d\s\x0b\x1c-\x1f()./-]{5,}\d"
)


def suspects(texts: list[str]) -> list[int]:
    """Give the numbers of the texts in which a cut can begin."""
    possible = pc.match_substring_regex(pa.array(texts, pa.string()), _POSSIBLE, ignore_case=True)
    numbers: list[int] = pc.indices_nonzero(possible).to_pylist()
    return [number for number in numbers if suspect(texts[number])]
