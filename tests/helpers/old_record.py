"""A small record written before tables could gain columns, its builds, and what they answered.

It was written by the code of commit e840e83: two published versions with a restatement, a silent
edit, a withdrawal, awards and a quarantined row, and a load after them. ``answers.json`` has the
answer to every request, pinned to each version, and every vintage of each table, as that code
gave them. All of it is fictional.
"""

import json
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from falcon import testing

from api.app import create_app
from tests.helpers.paths import ROOT
from warehouse.control.keys import KeyStore, create_key
from warehouse.read.mart import Mart
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import FILINGS, RECORD_TABLES
from warehouse.record.versions import load_seqs_of

_FILE = ROOT / "tests" / "data" / "record_before_columns.zip"
# The tables that it has: the others came later.
OLD_TABLES = tuple(table for table in RECORD_TABLES if table not in (FILINGS,))


# Members of envelopes that came later, and cursors, which are signed with a key of their own.
_LATER = re.compile(
    r',"next_cursor":(?:null|"[^"]*")|,"empty":(?:null|\{"code":.*?"held":(?:null|\{[^}]*\})\})'
)


def _as_then(text: str) -> str:
    """Return an answer without the members that its envelope gained."""
    return _LATER.sub("", text)


class OldRecord:
    """The record and its builds, unpacked into a folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.exists():
            with ZipFile(_FILE) as archive:
                archive.extractall(folder)
        self.record, self.marts = Record(str(folder / "record")), folder / "marts"
        keys = KeyStore(folder / "control.sqlite")
        self._key = create_key(keys, "professional")
        self._client = testing.TestClient(create_app(Mart(self.marts), keys))
        expected = json.loads((folder / "answers.json").read_text("utf-8"))
        self.answers_before: dict[str, dict[str, str]] = {
            version: {path: _as_then(text) for path, text in answers.items()}
            for version, answers in expected["answers"].items()
        }
        none: dict[str, Any] = {
            table.name: [] for table in RECORD_TABLES if table not in OLD_TABLES
        }
        self.vintages_before: dict[str, Any] = {
            version: {**tables, **none} for version, tables in expected["vintages"].items()
        }

    def get(self, path: str, pin: str | None = None) -> testing.Result:
        pinned = {} if pin is None else {"X-Data-Version": pin}
        return self._client.simulate_get(path, headers={"X-API-Key": self._key, **pinned})

    def answers(self) -> dict[str, dict[str, str]]:
        """Ask again what was asked then, pinned to each version."""
        return {
            version: {path: _as_then(self.get(path, version).text) for path in paths}
            for version, paths in self.answers_before.items()
        }

    def vintages(self) -> dict[str, Any]:
        """Return every vintage of each version, without the columns that are null."""
        found: dict[str, Any] = {}
        for version in self.vintages_before:
            load_seqs = load_seqs_of(self.record, version)
            for table in RECORD_TABLES:
                relation = self.record.relation(table.name)
                statement = vintages_query(
                    table, relation, vintages="all", load_seq=load_seqs[table.name]
                )
                rows = [
                    {name: str(row[name]) for name in sorted(row) if row[name] is not None}
                    for row in self.record.query(statement).to_pylist()
                ]
                found.setdefault(version, {})[table.name] = sorted(
                    rows, key=lambda row: sorted(row.items())
                )
        return found
