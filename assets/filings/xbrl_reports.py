"""Reports of issuers in any form of XBRL: xBRL-JSON, an XBRL 2.1 instance, or inline XBRL.

The forms are told apart by their content, bare or in a zip, and become the same model (``oim``).
"""

import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

from assets.filings.oim import Report, add_figures
from assets.parsing import strict
from assets.parsing.parsed import Parsed
from assets.parsing.unpacking import UNREADABLE, gunzip, open_zip, read_member, zip_members
from assets.parsing.xml_tree import Element, read_tree
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

# XBRL 2.1 instances as reports of the Open Information Model; their taxonomies are not needed.
#
# An instance alone states element, value, decimals, and by its contexts and units the rest. What
# only a taxonomy tells (types, labels, which elements belong together) no figure needs.

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
    if facts and not resources.contexts:
        raise ValueError(f"an instance without contexts: {len(facts)} facts without a period")
    for element in facts:
        _add_fact(report, resources, element, _fact)
    notes = [each for each in root.children if each.name == f"{LINK} footnoteLink"]
    if notes:
        report.left_out["footnotes"] = sum(
            each.name == f"{LINK} footnote" for note in notes for each in note.descendants()
        )
    return report


def _add_fact(
    report: Report,
    resources: "Resources",
    element: Element,
    read: Callable[["Resources", Element], Fact],
) -> None:
    """Add a fact, located by its id if it has one of its own; or the reason why it is none."""
    number = len(report.facts) + len(report.problems) + 1
    location = element.attributes.get("id") or f"fact {number}, line {element.line}"
    if location in report.facts:
        location = f"fact {number}, line {element.line}"
    try:
        report.facts[location] = read(resources, element)
    except ValueError as error:
        report.problems.append((location, str(error)))


def _fact(resources: "Resources", element: Element) -> Fact:
    if "contextRef" not in element.attributes:
        raise ValueError("a tuple: its facts have no meaning of their own")
    if element.children:
        raise ValueError("a fraction, or a fact with elements in it")
    concept = resources.written(element.namespace, element.local)
    value = None if _is_nil(element) else element.text().strip()
    return resources.fact(element, concept, value)


def _is_nil(element: Element) -> bool:
    return element.attributes.get(NIL, "").strip() in ("true", "1")


class Resources:
    """The contexts and units of a report, with prefixes of our own for every namespace.

    Prefixes of a document may mean something else in each of its elements.
    """

    def __init__(self, elements: list[Element]) -> None:
        self.namespaces: dict[str, Any] = {}
        self._prefixes: dict[str, str] = {}
        self.contexts = _by_id(elements, f"{XBRLI} context")
        self._units = _by_id(elements, f"{XBRLI} unit")
        # Thousands of facts refer to a few of them.
        self._context, self._unit = cache(self._dimensions), cache(self._written_unit)

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

    def _dimensions(self, name: str) -> dict[str, str]:
        context = _found(self.contexts, name, "context")
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

    def _written_unit(self, name: str) -> str:
        unit = _found(self._units, name, "unit")
        divided = [each for each in unit.children if each.name == f"{XBRLI} divide"]
        parts = divided[0].children if divided else [unit]
        return "/".join(map(self._measures, parts))

    def _measures(self, element: Element) -> str:
        measures = [each for each in element.children if each.name == f"{XBRLI} measure"]
        if not measures:
            raise ValueError("a unit without a measure")
        return "*".join(sorted(self.written(*each.qualified(each.text())) for each in measures))


def _by_id(elements: list[Element], name: str) -> dict[str, list[Element]]:
    found: dict[str, list[Element]] = defaultdict(list)
    for element in elements:
        if element.name == name:
            found[element.attributes.get("id", "")].append(element)
    return dict(found)


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
        return _midnight(texts["instant"], is_end=True)
    if {"startDate", "endDate"} <= set(texts):
        start = _midnight(texts["startDate"], is_end=False)
        return f"{start}/{_midnight(texts['endDate'], is_end=True)}"
    raise ValueError("a context without a period")


def _midnight(text: str, *, is_end: bool) -> str:
    """Return the start or the end of a period: of a day without a time the end is the next."""
    midnight = _MIDNIGHT.fullmatch(text)
    day = strict.calendar_day(midnight[1] if midnight else text)
    return f"{day + timedelta(days=is_end and not midnight)}T00:00:00"


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


# Inline XBRL 1.0 and 1.1 as reports of the Open Information Model.
#
# The numbers of a page for people, each with what it states. Text is no figure: a fact that is
# text is counted among the facts, without its value.

# The number formats of inline XBRL: how a report for people writes a number.
#
# The formats of the registries of XBRL International that state a number; others, such as words for
# numbers, are not read, and a fact in one of them is rejected.

_REGISTRY = re.compile(r"http://www\.xbrl\.org/(?:2008/)?inlineXBRL/transformation(?:/[0-9-]+)?")
# Blanks between digits, as they occur in pages.
_BLANKS = " \u00a0\u2009\u202f"
_DOT_DECIMAL = (f",'`´’′{_BLANKS}", ".")
_COMMA_DECIMAL = (f".'`´’′{_BLANKS}", ",")
# By the name of a format without dashes: the characters between groups, and the decimal sign. The
# first registry names both; from the second on a format accepts every separator of its kind.
_GROUPED = {
    "numdotdecimal": _DOT_DECIMAL,
    "numdotdecimalapos": _DOT_DECIMAL,
    "numdotdecimalin": _DOT_DECIMAL,
    "numcommadecimal": _COMMA_DECIMAL,
    "numcommadecimalapos": _COMMA_DECIMAL,
    "numcommadot": (",", "."),
    "numdotcomma": (".", ","),
    "numspacedot": (_BLANKS, "."),
    "numspacecomma": (_BLANKS, ","),
    "numcomma": ("", ","),
}
_ZERO = frozenset({"fixedzero", "zerodash", "numdash"})
_DASHES = frozenset("-‐‑‒–—―−﹣－")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


def plain_number(text: str, namespace: str, local: str) -> str:
    """Return digits with a decimal point; ValueError if the text is not in the format."""
    name = local.replace("-", "").lower()
    if not _REGISTRY.fullmatch(namespace) or name not in {*_GROUPED, *_ZERO}:
        raise ValueError(f"the format {local!r:.40} of {namespace!r:.80} is not read")
    text = text.strip()
    if name in _ZERO:
        if name != "fixedzero" and text not in _DASHES:
            raise ValueError(f"{text!r:.40} is no dash, as the format {local} writes zero")
        return "0"
    groups, decimal = _GROUPED[name]
    digits = text.translate({ord(sign): None for sign in groups}).replace(decimal, ".")
    if not _NUMBER.fullmatch(digits):
        raise ValueError(f"{text!r:.40} is no number of the format {local}")
    return digits


NAMESPACES = ("http://www.xbrl.org/2013/inlineXBRL", "http://www.xbrl.org/2008/inlineXBRL")
_FACTS = ("nonFraction", "nonNumeric", "fraction", "tuple")
_SCALE = re.compile("[+-]?[0-9]{1,2}")


def read_inline(root: Element) -> Report:
    """Return the report in a page: each of its facts, or why it is none."""
    tagged = [each for each in root.descendants() if each.namespace in NAMESPACES]
    resources = Resources(
        [child for each in tagged if each.local == "resources" for child in each.children]
    )
    facts = [each for each in tagged if each.local in _FACTS]
    if not facts:
        raise ValueError("a page without facts of inline XBRL")
    if not resources.contexts:
        raise ValueError(
            f"a page without contexts: {len(facts)} facts of a report whose contexts are in "
            "another of its pages"
        )
    report = Report(resources.namespaces)
    for element in facts:
        _add_fact(report, resources, element, _inline_fact)
    if notes := sum(each.local == "footnote" for each in tagged):
        report.left_out["footnotes"] = notes
    return report


def _inline_fact(resources: Resources, element: Element) -> Fact:
    attributes = element.attributes
    if element.local in ("fraction", "tuple") or "tupleRef" in attributes:
        raise ValueError("a fraction, or a fact of a tuple")
    if "target" in attributes:
        raise ValueError(f"it belongs to another report, {attributes['target']!r:.40}")
    if "contextRef" not in attributes:
        raise ValueError("a fact without a context")
    concept = resources.written(*element.qualified(attributes.get("name", "")))
    is_number = element.local == "nonFraction" and not _is_nil(element)
    return resources.fact(element, concept, _value(element) if is_number else None)


def _value(element: Element) -> str:
    """Return the value that a number on the page states."""
    attributes = element.attributes
    text = element.text(without=f"{element.namespace} exclude").strip()
    if "format" in attributes:
        text = plain_number(text, *element.qualified(attributes["format"]))
    number = strict.number_from_text(text)
    if number < 0 or text.startswith(("-", "+")):
        raise ValueError(f"{text!r:.40} has a sign of its own; inline XBRL states it apart")
    scale = attributes.get("scale", "0").strip()
    if not _SCALE.fullmatch(scale):
        raise ValueError(f"scale: {scale!r:.40} is no power of ten")
    sign = attributes.get("sign")
    if sign not in (None, "-"):
        raise ValueError(f"sign: {sign!r:.40} is no minus")
    value = number.scaleb(int(scale))
    return f"{-value if sign and value else value:f}"


# xBRL-JSON: the Open Information Model as filings.xbrl.org publishes reports.


_OIM = re.compile(r"https?://(www\.)?xbrl\.org/.*xbrl-json.*")


def read_xbrl_json(body: bytes) -> Report:
    """Return the report in a body, located as JSON pointers; ValueError if it is none."""
    content = strict.json_object(strict.read_json(body))
    info = content.get("documentInfo")
    if not isinstance(info, dict) or not _OIM.fullmatch(str(info.get("documentType"))):
        raise ValueError("the document is not an xBRL-JSON report")
    facts = strict.json_object(content.get("facts"))
    located = {strict.json_pointer("facts", name): fact for name, fact in facts.items()}
    return Report(strict.json_object(info.get("namespaces")), located)


_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
# Of a report package: what else is in it are its taxonomy, pictures and styles.
_ENDINGS = (".xbrl", ".xml", ".xhtml", ".html", ".htm", ".json")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the figures of the reports in a body."""
    parsed = Parsed()
    count = 0
    try:
        for name, content in _bodies(body):
            report = read_report(content)
            if report is not None:
                count += 1
                add_figures(parsed, document, report, f"{name}#" if name else "")
    except ValueError as error:
        parsed.reject(FUNDAMENTALS, document, "", str(error))
    except UNREADABLE as error:
        parsed.reject(FUNDAMENTALS, document, "", f"damaged: {type(error).__name__}")
    else:
        if not count:
            parsed.reject(FUNDAMENTALS, document, "", "holds no report in XBRL")
    return parsed


def read_report(body: bytes) -> Report | None:
    """Return the report in a body; None if it is XML of another kind. ValueError if damaged."""
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return read_xbrl_json(body)
    root = read_tree(body)
    if root.name == ROOT:
        return read_instance(root)
    return read_inline(root) if root.local == "html" else None


def _bodies(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the body, or the members of a zip that can be reports."""
    if body.startswith(_GZIP):
        body = gunzip(body)
    if not body.startswith(_ZIP):
        yield "", body
        return
    with open_zip(io.BytesIO(body)) as archive:
        for info in zip_members(archive):
            # There its catalogue and description are.
            is_meta = "META-INF/" in info.filename
            if info.filename.lower().endswith(_ENDINGS) and not is_meta:
                with archive.open(info) as member:
                    yield info.filename, read_member(member)
