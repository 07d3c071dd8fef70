"""Inline XBRL 1.0 and 1.1 as reports of the Open Information Model.

The numbers of a page for people, each with what it states. Text is no figure: a fact that is text
is counted among the facts, without its value.
"""

import re

from assets.filings.oim import Report
from assets.filings.xbrl_xml import Fact, Resources, add_fact, is_nil
from assets.parsing.strict import number_from_text
from assets.parsing.xml_tree import Element

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


NAMESPACES = (
    "http://www.xbrl.org/2013/inlineXBRL",
    "http://www.xbrl.org/2008/inlineXBRL",
)
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
    if not resources.has_contexts:
        raise ValueError(
            f"a page without contexts: {len(facts)} facts of a report whose contexts are in "
            "another of its pages"
        )
    report = Report(resources.namespaces)
    for element in facts:
        add_fact(report, element, lambda fact: _fact(resources, fact))
    if notes := sum(each.local == "footnote" for each in tagged):
        report.left_out["footnotes"] = notes
    return report


def _fact(resources: Resources, element: Element) -> Fact:
    attributes = element.attributes
    if element.local in ("fraction", "tuple") or "tupleRef" in attributes:
        raise ValueError("a fraction, or a fact of a tuple")
    if "target" in attributes:
        raise ValueError(f"it belongs to another report, {attributes['target']!r:.40}")
    if "contextRef" not in attributes:
        raise ValueError("a fact without a context")
    concept = resources.written(*element.qualified(attributes.get("name", "")))
    is_number = element.local == "nonFraction" and not is_nil(element)
    return resources.fact(element, concept, _value(element) if is_number else None)


def _value(element: Element) -> str:
    """Return the value that a number on the page states."""
    attributes = element.attributes
    text = element.text(without=f"{element.namespace} exclude").strip()
    if "format" in attributes:
        text = plain_number(text, *element.qualified(attributes["format"]))
    number = number_from_text(text)
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
