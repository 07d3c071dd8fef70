"""The tables of the control database."""

from datetime import UTC, datetime
from typing import ClassVar, get_args

from sqlalchemy import CheckConstraint, DateTime, Dialect, Index
from sqlalchemy.types import JSON, TypeDecorator
from sqlmodel import Field, MetaData, SQLModel

from warehouse.tiers import TierName

# The version of these tables; code that changes one counts it up, and says what to do about older.
SCHEMA = 1


class UtcTime(TypeDecorator[datetime]):
    """A time in UTC; SQLite stores no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time with its zone."""
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC)


class ControlTable(SQLModel):
    """A table of the control database; the rows of ``warehouse.tables`` are none of its tables."""

    metadata: ClassVar[MetaData] = MetaData()


def _every_column(*names: str) -> Index:
    """Return an index that has every column, and so a second copy of every row.

    ``PRAGMA integrity_check`` compares the two: a changed bit in either is damage, never another
    tier or another day.
    """
    return Index(None, *names).ddl_if(dialect="sqlite")


class ControlSchema(ControlTable, table=True):
    """The version of the tables, in one row."""

    __tablename__ = "sankofa_schema"

    version: int = Field(primary_key=True)


class ApiKey(ControlTable, table=True):
    """An issued key: its hash, never the key. ``key_id`` survives a rotation.

    ``ends_at`` is set when it is revoked or replaced. Empty ``datasets`` and ``networks`` mean any.
    """

    __tablename__ = "sankofa_key"
    __table_args__ = (
        CheckConstraint(f"tier IN {get_args(TierName)}", name="known_tier"),
        CheckConstraint("length(sha256) = 64", name="whole_hash"),
        _every_column(
            *("sha256", "prefix", "key_id", "tier", "label", "created_at", "ends_at"),
            *("expires_at", "sandbox", "datasets", "networks"),
        ),
    )

    sha256: str = Field(primary_key=True)
    prefix: str
    key_id: str
    tier: str
    label: str
    created_at: datetime = Field(sa_type=UtcTime)
    ends_at: datetime | None = Field(default=None, sa_type=UtcTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    sandbox: bool = False
    datasets: list[str] = Field(default_factory=list, sa_type=JSON)
    networks: list[str] = Field(default_factory=list, sa_type=JSON)

    def last_moment(self) -> datetime | None:
        """Return when the key stops or stopped working; None if it never does."""
        return min(filter(None, (self.ends_at, self.expires_at)), default=None)

    def is_active(self) -> bool:
        """Return whether the key works."""
        last = self.last_moment()
        return last is None or datetime.now(UTC) < last


class Secret(ControlTable, table=True):
    """A secret of the service: the public sandbox key, and what signs cursors."""

    __tablename__ = "sankofa_secret"
    __table_args__ = (_every_column("name", "value"),)

    name: str = Field(primary_key=True)
    value: bytes


class Action(ControlTable, table=True):
    """One action of an operator. It has no ``ended_at`` while it runs, and if it was killed."""

    __tablename__ = "sankofa_action"

    action_id: int | None = Field(default=None, primary_key=True)
    kind: str
    what: str
    why: str
    who: str
    began_at: datetime = Field(sa_type=UtcTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcTime)
    failure: str | None = None
