"""The accounts of CVM's charts that state the lines of statements, as data.

``cvm_accounts.csv`` has, for each line, the accounts that state it. Industry, banks and insurers
have charts of their own, in which one code has several meanings: an account is told by its code and
its description together. A ``*`` stands for one part of a code. CVM states costs and taxes as
negative amounts; ``sign`` turns them into what the line means. Accounts that each company names
itself are not here: they cannot be told apart.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from warehouse.csv_files import csv_rows
from warehouse.methodology.line_items import LINE_ITEMS, LineItem

TAXONOMY = "cvm"


@dataclass(frozen=True)
class Account:
    """An account of a chart, and the line that it states; the lowest rank wins."""

    item: LineItem
    name: str
    code: re.Pattern[str]
    description: str
    rank: int
    sign: int


def fold(text: str) -> str:
    """Return a description in comparable form: case, accents and blanks do not matter."""
    plain = unicodedata.normalize("NFKD", text)
    return " ".join(
        "".join(char for char in plain if not unicodedata.combining(char)).split()
    ).casefold()


def _accounts() -> Iterator[Account]:
    lines = {item.name: item for item in LINE_ITEMS}
    for row in csv_rows(__name__, "cvm_accounts"):
        yield Account(
            lines[row["line_item"]],
            f"{row['code']} {row['description']}",
            re.compile(re.escape(row["code"]).replace(r"\*", "[0-9]{2}")),
            fold(row["description"]),
            int(row["rank"]),
            int(row["sign"]),
        )


ACCOUNTS = tuple(_accounts())
_BY_DESCRIPTION: dict[str, list[Account]] = defaultdict(list)
for _account in ACCOUNTS:
    _BY_DESCRIPTION[_account.description].append(_account)


# Bounded: what companies name their own accounts is without end.
@lru_cache(1 << 16)
def account_of(code: str, description: str) -> Account | None:
    """Return the account of a code and a description as written; None if it states no line."""
    candidates = _BY_DESCRIPTION.get(fold(description), ())
    return next((account for account in candidates if account.code.fullmatch(code)), None)
