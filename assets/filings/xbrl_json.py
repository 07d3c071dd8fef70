"""xBRL-JSON: the Open Information Model as filings.xbrl.org publishes reports."""

import re

from assets.filings.oim import Report
from assets.parsing.strict import json_object, json_pointer, read_json

_OIM = re.compile(r"https?://(www\.)?xbrl\.org/.*xbrl-json.*")


def read_report(body: bytes) -> Report:
    """Return the report in a body, located as JSON pointers; ValueError if it is none."""
    content = json_object(read_json(body))
    info = content.get("documentInfo")
    if not isinstance(info, dict) or not _OIM.fullmatch(str(info.get("documentType"))):
        raise ValueError("the document is not an xBRL-JSON report")
    facts = json_object(content.get("facts"))
    located = {json_pointer("facts", name): fact for name, fact in facts.items()}
    return Report(json_object(info.get("namespaces")), located)
