"""Made-up Financial Statement Data Sets of the SEC, as it zips them for a quarter."""

import io
import zipfile
from collections.abc import Mapping, Sequence

ACCESSION = "0001193125-21-000001"
SUBMISSION = {
    "adsh": ACCESSION,
    "cik": "1172724",
    "name": "FICTIONAL GOLD LTD",
    "countryba": "ZA",
    "countryinc": "ZA",
    "fye": "1231",
    "form": "20-F",
    "period": "20201231",
    "fy": "2020",
    "fp": "FY",
    "filed": "20210329",
    "accepted": "2021-03-29 06:51:00.0",
    "prevrpt": "0",
    "instance": "fgl-20201231.xml",
    "nciks": "1",
    "aciks": "",
}
NUMBER = {
    "adsh": ACCESSION,
    "tag": "Revenue",
    "version": "ifrs/2020",
    "ddate": "20201231",
    "qtrs": "4",
    "uom": "USD",
    "segments": "",
    "coreg": "",
    "value": "500.0000",
    "footnote": "",
}
# The columns of num.txt before segments were added.
OLD_NUMBERS = (*("adsh", "tag", "version", "coreg", "ddate", "qtrs", "uom", "value", "footnote"),)
# Balances at both ends of 2020, which show that the year is exact.
BALANCES = (
    {"tag": "Assets", "qtrs": "0", "value": "900.0000"},
    {"tag": "Assets", "qtrs": "0", "value": "800.0000", "ddate": "20191231"},
)

Changes = Mapping[str, str]


def table(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> bytes:
    """Return a table of the sets: tabs, no quotes."""
    lines = ["\t".join(columns), *("\t".join(row[name] for name in columns) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def submissions(*changes: Changes) -> bytes:
    """Return ``sub.txt``."""
    return table(tuple(SUBMISSION), [SUBMISSION | dict(each) for each in changes or ({},)])


def numbers(*changes: Changes, columns: Sequence[str] = tuple(NUMBER)) -> bytes:
    """Return ``num.txt``."""
    return table(columns, [NUMBER | dict(each) for each in changes])


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Return a zip of tables."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return body.getvalue()


def data_set(*changes: Changes, submission: Changes | None = None) -> bytes:
    """Return the set of a quarter with one filing of these numbers, and balances around 2020."""
    tables = {
        "sub.txt": submissions(submission or {}),
        "tag.txt": b"tag\tversion\n",
        "num.txt": numbers(*BALANCES, *changes),
        "pre.txt": b"adsh\treport\n",
    }
    return zipped(tables)
