"""Portals of real files that are in no table of this repository, entered as a user would."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.tenders.portal_files import read_portals
from assets.tenders.sources import portal_source
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from warehouse.record.landing import Document

pytestmark = pytest.mark.shared

ENTRY = """[{key}]
country = "{country}"
title = "{key}"
base_url = "https://{key}.example"
licence.class = "{licence}"
licence.name = "As its publisher states"
licence.stated_at = "https://{key}.example/licence"
{words}
"""
# The words that these portals write in place of codes of OCDS.
MOLDOVAN = """
words.tender_status = ["Primirea ofertelor", "Evaluarea ofertelor", "Executarea contractului"]
words.contract_status = ["Înregistrat(ă)"]
words.procurement_method = ["Cerere a ofertelor de preţuri", "Licitaţie publică"]
"""
AGREEMENTS = """words.role = [
    "Parte de convenio de colaboración", "Contraparte de convenio de colaboración",
]"""
WORKS = """words.scheme = [
    "SERVICIOS LEGALES, DE CONTABILIDAD, AUDITORIA Y RELACIONADOS",
    "TRABAJOS DE ACABADOS EN EDIFICACIONES Y OTROS TRABAJOS ESPECIALIZADOS",
    "CONSTRUCCION DE VIAS DE COMUNICACION", "EDIFICACION NO HABITACIONAL",
]"""
PARAGUAYAN = """words.scheme = [
    "Catálogo de productos, bienes y servicios de la Dirección Nacional de Contrataciones Públicas del Paraguay",
]"""  # noqa: E501
# Folder or file, country, licence class, words, and the releases that are read.
PORTALS = {
    "pt-impic": ("ocds/portals/pt_impic", "PT", "cc-by", "", 100),
    "gb-fts": ("ocds/portals/gb_fts", "GB", "open-attribution", "", 10),
    "mx-cdmx": ("ocds/portals/mx_cdmx", "MX", "open-attribution", "", 8),
    "ua-prozorro": ("more/ocds/ua_prozorro_api_2018", "UA", "per-package", "", 11),
    "md-etenders": (
        "more/ocds/md_etenders_fetched_2017-06-29",
        "MD",
        "open-attribution",
        MOLDOVAN,
        34,
    ),
    "mx-inai": ("more/ocds/mx_inai_fetched_2017-11-07", "MX", "open-attribution", AGREEMENTS, 20),
    "mx-gacm": ("more/ocds/mx_gacm_two_releases_each", "MX", "open-attribution", WORKS, 16),
    "mx-apf": ("more/ocds/mx_apf_records_2018-01-10", "MX", "open-attribution", "", 7),
    # Seven more have no ocid of their own, only their record has one: they are quarantined.
    "py-records": (
        "more/ocds/py_dncp_record_packages_2017-01-04",
        "PY",
        "per-package",
        PARAGUAYAN,
        28,
    ),
    "ug-gpp": ("more/ocds/ug_gpp_2017-10-16", "UG", "open-attribution", "", 7),
}


@pytest.mark.parametrize("key", PORTALS)
def test_a_portal_that_is_entered_as_data_gives_its_releases_with_every_code(
    key: str, tmp_path: Path
) -> None:
    folder, country, licence, words, count = PORTALS[key]
    text = ENTRY.format(key=key, country=country, licence=licence, words=words)
    if licence == "per-package":
        text = "\n".join(line for line in text.splitlines() if "stated_at" not in line)
    file = tmp_path / "portals.toml"
    file.write_text(text, "utf-8")
    source = portal_source(read_portals(file)[0])
    day = datetime(2026, 11, 14, tzinfo=UTC)
    releases, reasons = [], []
    for path in sorted((REAL / folder).iterdir()):
        url = f"{source.base_url}/{path.name}"
        document = Document("0" * 64, key, url, "cc-by", day, 200, {}, 0)
        parsed = untyped(source.parser.parse(document, path.read_bytes()))
        releases += parsed.rows.get("tender_releases", [])
        reasons += [row.reason for row in parsed.rejected.get("tender_releases", [])]
    assert len(releases) == count
    assert {row["country"] for row in releases} == {country}
    assert all(row["source_ref"].startswith(f"https://{key}.example/") for row in releases)
    assert not [reason for reason in reasons if "no code of OCDS" in reason]
