"""How many names each rule served or withheld, as a table."""

from collections import Counter
from collections.abc import Iterable, Mapping

from quality.persons import judge_name

SERVED = ("legal_form", "public_body", "register", "lei")


def count(names: Iterable[str], country: str | None) -> Counter[str]:
    """Count the rule that decided on each name."""
    verdicts = (judge_name(name, country=country, scheme=None, identifier=None) for name in names)
    return Counter(verdict.rule for verdict in verdicts)


def share(rules: Mapping[str, int]) -> float:
    """Return the share of names that was served."""
    served = sum(rules.get(rule, 0) for rule in SERVED)
    return served / sum(rules.values())


def table(title: str, counted: Mapping[str, Counter[str]]) -> str:
    """Format the counts: a line per list, a column per rule."""
    rules = sorted({rule for item in counted.values() for rule in item}, key=_served_first)
    lines = ["", f"{title}: names by the rule that served (+) or withheld (-) them"]
    lines.append("  ".join(["list ", "names", " share", *map(_heading, rules)]))
    for name, counts in counted.items():
        cells = [f"{counts[rule]:>{len(_heading(rule))}}" for rule in rules]
        lines.append(
            "  ".join([f"{name:5}", f"{counts.total():5}", f"{share(counts):6.1%}", *cells])
        )
    return "\n".join(lines)


def _served_first(rule: str) -> tuple[bool, str]:
    return rule not in SERVED, rule


def _heading(rule: str) -> str:
    return ("+" if rule in SERVED else "-") + rule
