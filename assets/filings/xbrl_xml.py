"""XBRL 2.1 instances as reports of the Open Information Model; their taxonomies are not needed.

An instance alone states element, value, decimals, and by its contexts and units the rest. What only
a taxonomy tells (types, labels, which elements belong together) no figure needs.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from assets.filings.oim import Report
from assets.parsing.strict import calendar_day
from assets.parsing.xml_tree import Element

XBRLI = "http://www.xbrl.org/2003/instance"
LINK = "http://www.xbrl.org/2003/linkbase"
NIL = "http://www.w3.org/2001/XMLSchema-instance nil"
_XBRLDI = "http://xbrl.org/2006/xbrldi"

ROOT = f"{XBRLI} xbrl"
_MIDNIGHT = re.compile(r"([0-9-]{10})T00:00:00(?:\.0+)?Z?")
_DECIMALS = re.compile("[+-]?[0-9]{1,3}")

Fact = dict[str, Any]


def read_instance(root: Element) -> Report:
    """Return the report of an instance: each of its facts, or why it is none."""
    resources = Resources(root.children)
    report = Report(resources.namespaces)
    facts = [each for each in root.children if each.namespace not in (XBRLI, LINK)]
    if facts and not resources.has_contexts:
        raise ValueError(f"an instance without contexts: {len(facts)} facts without a period")
    for element in facts:
        add_fact(report, element, lambda fact: _fact(resources, fact))
    notes = [each for each in root.children if each.name == f"{LINK} footnoteLink"]
    if notes:
        report.left_out["footnotes"] = sum(
            each.name == f"{LINK} footnote" for note in notes for each in note.descendants()
        )
    return report


def add_fact(report: Report, element: Element, read: Callable[[Element], Fact]) -> None:
    """Add a fact, located by its id if it has one of its own; or the reason why it is none."""
    number = len(report.facts) + len(report.problems) + 1
    location = element.attributes.get("id") or f"fact {number}, line {element.line}"
    if location in report.facts:
        location = f"fact {number}, line {element.line}"
    try:
        report.facts[location] = read(element)
    except ValueError as error:
        report.problems.append((location, str(error)))


def _fact(resources: "Resources", element: Element) -> Fact:
    if "contextRef" not in element.attributes:
        raise ValueError("a tuple: its facts have no meaning of their own")
    if element.children:
        raise ValueError("a fraction, or a fact with elements in it")
    concept = resources.written(element.namespace, element.local)
    value = None if is_nil(element) else element.text().strip()
    return resources.fact(element, concept, value)


def is_nil(element: Element) -> bool:
    """Return whether a fact says that it has no value."""
    return element.attributes.get(NIL, "").strip() in ("true", "1")


class Resources:
    """The contexts and units of a report, with prefixes of our own for every namespace.

    Prefixes of a document may mean something else in each of its elements.
    """

    def __init__(self, elements: list[Element]) -> None:
        self.namespaces: dict[str, Any] = {}
        self._prefixes: dict[str, str] = {}
        self._contexts = _by_id(elements, f"{XBRLI} context")
        self._units = _by_id(elements, f"{XBRLI} unit")
        self._read: dict[str, dict[str, str] | str] = {}
        self._written: dict[str, str] = {}

    @property
    def has_contexts(self) -> bool:
        """Whether there is any context."""
        return bool(self._contexts)

    def fact(self, element: Element, concept: str, value: str | None) -> Fact:
        """Return a fact with the dimensions that its element refers to."""
        attributes = element.attributes
        dimensions = {"concept": concept, **self._context(attributes["contextRef"])}
        fact: Fact = {"value": value, "dimensions": dimensions}
        if "unitRef" in attributes:
            dimensions["unit"] = self._unit(attributes["unitRef"])
            if value is not None and (decimals := _decimals(attributes, value)) is not None:
                fact["decimals"] = decimals
        return fact

    def written(self, namespace: str, local: str) -> str:
        """Return a name with a prefix that ``namespaces`` explains."""
        prefix = self._prefixes.setdefault(namespace, f"ns{len(self._prefixes)}")
        self.namespaces[prefix] = namespace
        return f"{prefix}:{local}"

    def _context(self, name: str) -> dict[str, str]:
        if name not in self._read:
            try:
                self._read[name] = self._dimensions(_found(self._contexts, name, "context"))
            except ValueError as error:
                self._read[name] = str(error)
        dimensions = self._read[name]
        if isinstance(dimensions, str):
            raise ValueError(dimensions)
        return dimensions

    def _dimensions(self, context: Element) -> dict[str, str]:
        dimensions: dict[str, str] = {}
        for element in context.descendants():
            if element.name == f"{XBRLI} identifier":
                scheme = element.attributes.get("scheme", "").strip()
                dimensions["entity"] = self.written(scheme, element.text().strip())
            elif element.name in (f"{XBRLI} segment", f"{XBRLI} scenario"):
                dimensions |= dict(map(self._member, element.children))
        if period := _period(context):
            dimensions["period"] = period
        return dimensions

    def _member(self, element: Element) -> tuple[str, str]:
        """Return dimension and member; what is no dimension qualifies a fact as well."""
        if element.namespace != _XBRLDI:
            return self.written(element.namespace, element.local), element.text().strip()
        dimension = self.written(*element.qualified(element.attributes.get("dimension", "")))
        return dimension, element.text().strip()

    def _unit(self, name: str) -> str:
        if name not in self._written:
            unit = _found(self._units, name, "unit")
            divided = [each for each in unit.children if each.name == f"{XBRLI} divide"]
            parts = divided[0].children if divided else [unit]
            self._written[name] = "/".join(map(self._measures, parts))
        return self._written[name]

    def _measures(self, element: Element) -> str:
        measures = [each for each in element.children if each.name == f"{XBRLI} measure"]
        if not measures:
            raise ValueError("a unit without a measure")
        return "*".join(sorted(self.written(*each.qualified(each.text())) for each in measures))


def _by_id(elements: list[Element], name: str) -> dict[str, list[Element]]:
    found: dict[str, list[Element]] = {}
    for element in elements:
        if element.name == name:
            found.setdefault(element.attributes.get("id", ""), []).append(element)
    return found


def _found(elements: dict[str, list[Element]], name: str, kind: str) -> Element:
    found = elements.get(name, [])
    if len(found) != 1:
        there = "more than once" if found else "not"
        raise ValueError(f"the {kind} {name!r:.60} is {there} in the document")
    return found[0]


def _period(context: Element) -> str | None:
    """Return a period as OIM writes it; None if it is for ever."""
    texts = {
        each.local: each.text().strip()
        for each in context.descendants()
        if each.namespace == XBRLI and each.local in ("instant", "startDate", "endDate", "forever")
    }
    if "forever" in texts:
        return None
    if "instant" in texts:
        return _end(texts["instant"])
    if {"startDate", "endDate"} <= set(texts):
        return f"{_start(texts['startDate'])}/{_end(texts['endDate'])}"
    raise ValueError("a context without a period")


def _start(text: str) -> str:
    midnight = _MIDNIGHT.fullmatch(text)
    return f"{calendar_day(midnight[1] if midnight else text)}T00:00:00"


def _end(text: str) -> str:
    """Return the end of a period: a day without a time means its end."""
    midnight = _MIDNIGHT.fullmatch(text)
    day = calendar_day(midnight[1]) if midnight else calendar_day(text) + timedelta(days=1)
    return f"{day}T00:00:00"


def _decimals(attributes: dict[str, str], value: str) -> Decimal | str | None:
    """Return the decimals of a value; None if it is exact."""
    stated = attributes.get("decimals")
    if stated is not None:
        return _whole(stated, "decimals")
    precision = attributes.get("precision")
    if precision is None:
        raise ValueError("neither decimals nor precision is given")
    digits = _whole(precision, "precision")
    if digits is None:
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{value!r:.60} is not a number") from None
    if not number.is_finite() or digits <= 0:
        raise ValueError(f"precision: {precision!r:.60} says nothing about the value")
    # Zero is exact to whatever precision.
    return digits - number.adjusted() - 1 if number else None


def _whole(text: str, name: str) -> Decimal | None:
    if text.strip() == "INF":
        return None
    if not _DECIMALS.fullmatch(text.strip()):
        raise ValueError(f"{name}: {text!r:.60} is no whole number")
    return Decimal(text.strip())
