# mypy: ignore-errors
"""A usual service over the plain copy: FastAPI, SQLAlchemy's ORM, pydantic; no key, no limits.

It runs in the environment of the peers: ``uvicorn usual:app``, with ``PLAIN`` naming the copy.
"""

import json
import os
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict, create_model
from sqlalchemy import Column, Integer, Table, create_engine, inspect, select
from sqlalchemy.orm import DeclarativeBase, Session

engine = create_engine(
    f"sqlite:///{os.environ['PLAIN']}", connect_args={"check_same_thread": False}
)
_KEYS = {"facts": "fact_id", "macro": "rowid", "releases": "position", "entities": "service_id"}


_INNER = ("superseded_at", "position")


class Base(DeclarativeBase):
    """What every table gives."""


def _models() -> tuple[dict[str, Any], dict[str, type[BaseModel]]]:
    """Map each table as it is, and describe its rows to pydantic."""
    tables, shapes = {}, {}
    for name, key in _KEYS.items():
        found = inspect(engine).get_columns(name)
        columns = [
            Column(column["name"], column["type"], primary_key=column["name"] == key)
            for column in found
        ]
        if key == "rowid":
            columns.insert(0, Column("rowid", Integer, primary_key=True))
        table = Table(name, Base.metadata, *columns)
        tables[name] = type(name.title(), (Base,), {"__table__": table})
        kinds = {column["name"]: column["type"].python_type | None for column in found}
        fields = {name: (kind, None) for name, kind in kinds.items() if name not in _INNER}
        fields |= {"release": (Any, None)} if name == "releases" else {}
        shapes[name] = create_model(
            f"{name.title()}Row", __config__=ConfigDict(from_attributes=True), **fields
        )
    return tables, shapes


TABLES, SHAPES = _models()
Facts, Macro, Releases, Entities = (TABLES[name] for name in _KEYS)
Fact, Observation, Release, Entity = (SHAPES[name] for name in _KEYS)


def envelope(row: type[BaseModel]) -> type[BaseModel]:
    """Describe an answer with its rows."""
    return create_model(f"{row.__name__}s", data=(list[row], ...), count=(int, ...))  # type: ignore[valid-type]


def opened() -> Iterator[Session]:
    """Yield a session for a request."""
    with Session(engine) as session:
        yield session


Opened = Annotated[Session, Depends(opened)]
app = FastAPI()


@app.get("/fundamentals/{service_id}", response_model=envelope(Fact))
def fundamentals(service_id: str, as_of: str, session: Opened) -> Any:
    """Return the facts of an issuer as they were known."""
    statement = (
        select(Facts)
        .where(Facts.service_id == service_id, Facts.available_at <= as_of)
        .where(Facts.superseded_at > as_of)
        .order_by(Facts.period_end.desc(), Facts.line_item)
    )
    rows = session.scalars(statement).all()
    return {"data": rows, "count": len(rows)}


@app.get("/macro", response_model=envelope(Observation))
def macro(series: str, as_of: str, session: Opened) -> Any:
    """Return a series as it was known."""
    statement = (
        select(Macro)
        .where(Macro.series == series, Macro.available_at <= as_of, Macro.superseded_at > as_of)
        .order_by(Macro.period_end.desc())
    )
    rows = session.scalars(statement).all()
    return {"data": rows, "count": len(rows)}


@app.get("/tenders", response_model=envelope(Release))
def tenders(country: str, after: int, session: Opened) -> Any:
    """Return a page of releases."""
    statement = (
        select(Releases)
        .where(Releases.country == country, Releases.position > after)
        .order_by(Releases.position)
        .limit(100)
    )
    rows = session.scalars(statement).all()
    for row in rows:
        session.expunge(row)
        row.release = json.loads(row.release)
    return {"data": rows, "count": len(rows)}


@app.get("/entities/{service_id}", response_model=envelope(Entity))
def entity(service_id: str, session: Opened) -> Any:
    """Return an organisation."""
    row = session.get(Entities, service_id)
    if row is None:
        raise HTTPException(404)
    return {"data": [row], "count": 1}
