"""Which of an organisation's other names may be kept: none that speaks of a person."""

from collections.abc import Iterable

from quality.persons import named_person


def without_people(
    names: Iterable[str], country: str | None, jurisdiction: str | None
) -> tuple[list[str], list[str]]:
    """Give the names that may be kept, and for each of the others why not, without the name."""
    kept, reasons = [], []
    place = country or (jurisdiction or "")[:2] or None
    for name in names:
        if rule := named_person(name, place):
            words = rule.replace("_", " ")
            reasons.append(f"an other name is left out, since it may be a person's: {words}")
        else:
            kept.append(name)
    return kept, reasons
