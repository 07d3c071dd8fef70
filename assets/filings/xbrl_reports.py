"""Reports of issuers in any form of XBRL: xBRL-JSON, an XBRL 2.1 instance, or inline XBRL.

The forms are told apart by their content, bare or in a zip, and become the same model (``oim``).
"""

import io
import re
from collections.abc import Iterator

from assets.filings import inline_xbrl, xbrl_xml
from assets.filings.oim import Report, add_figures
from assets.parsing.parsed import Parsed
from assets.parsing.strict import json_object, json_pointer, read_json
from assets.parsing.unpacking import UNREADABLE, gunzip, open_zip, read_member, zip_members
from assets.parsing.xml_tree import read_tree
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

# xBRL-JSON: the Open Information Model as filings.xbrl.org publishes reports.


_OIM = re.compile(r"https?://(www\.)?xbrl\.org/.*xbrl-json.*")


def read_xbrl_json(body: bytes) -> Report:
    """Return the report in a body, located as JSON pointers; ValueError if it is none."""
    content = json_object(read_json(body))
    info = content.get("documentInfo")
    if not isinstance(info, dict) or not _OIM.fullmatch(str(info.get("documentType"))):
        raise ValueError("the document is not an xBRL-JSON report")
    facts = json_object(content.get("facts"))
    located = {json_pointer("facts", name): fact for name, fact in facts.items()}
    return Report(json_object(info.get("namespaces")), located)


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
                add_figures(parsed, document, _within(report, name))
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
    if root.name == xbrl_xml.ROOT:
        return xbrl_xml.read_instance(root)
    return inline_xbrl.read_inline(root) if root.local == "html" else None


def _bodies(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the body, or the members of a zip that can be reports."""
    if body.startswith(_GZIP):
        body = gunzip(body)
    if not body.startswith(_ZIP):
        yield "", body
        return
    with open_zip(io.BytesIO(body)) as archive:
        for info in zip_members(archive):
            # Its catalogue and description.
            is_meta = "META-INF/" in info.filename
            if info.filename.lower().endswith(_ENDINGS) and not is_meta:
                with archive.open(info) as member:
                    yield info.filename, read_member(member)


def _within(report: Report, name: str) -> Report:
    if name:
        report.facts = {f"{name}#{location}": fact for location, fact in report.facts.items()}
        report.problems = [(f"{name}#{location}", why) for location, why in report.problems]
    return report
