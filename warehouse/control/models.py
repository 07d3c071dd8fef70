"""The control database: its tables, how it is opened, and the trail of what operators did."""

import os
import socket
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from getpass import getuser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Literal, get_args

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.types import JSON, TypeDecorator
from sqlmodel import Field, MetaData, Session, SQLModel, col, select

from warehouse.shared.errors import ControlUnavailable, SankofaError, in_one_line
from warehouse.shared.tiers import TierName

# The version of these tables; code that changes one counts it up, and says what to do about older.
SCHEMA = 1


class UtcTime(TypeDecorator[datetime]):
    """A time in UTC; SQLite stores no time zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Return the time with its zone."""
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC)


class ControlTable(SQLModel):
    """A table of the control database; the rows of ``warehouse.tables`` are none of its tables."""

    metadata: ClassVar[MetaData] = MetaData()


def _every_column(*names: str) -> sa.Index:
    """Return an index that has every column, and so a second copy of every row.

    ``PRAGMA integrity_check`` compares the two: a changed bit in either is damage, never another
    tier or another day.
    """
    return sa.Index(None, *names).ddl_if(dialect="sqlite")


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
        sa.CheckConstraint(f"tier IN {get_args(TierName)}", name="known_tier"),
        sa.CheckConstraint("length(sha256) = 64", name="whole_hash"),
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


# Opening of the control database: one SQLite file, or a PostgreSQL.
#
# A connection to a file is opened for a moment and checks the whole file first, so that damage is
# an error and nothing else. SQLite's rollback journal undoes what a killed process left half
# done.

POSTGRES = ("postgresql://", "postgres://")
_CONNECT_SECONDS = 3
# Changes within one tick of a file system's clock leave the same time, in nanoseconds.
_TICK = 50_000_000


class ControlDatabase:
    """The control database at a path or a URL; nothing is opened before it is needed."""

    def __init__(self, location: str | Path) -> None:
        self.path = None if "://" in str(location) else Path(location).absolute()
        self._engine = _postgres(str(location)) if self.path is None else _sqlite(self.path)
        weakref.finalize(self, self._engine.dispose)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yield a session that reads; raise ControlUnavailable if the database cannot be read."""
        with _errors(), Session(self._engine, expire_on_commit=False) as session:
            self._check(session.connection())
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Yield a session that is committed at its end; one at a time writes.

        Creates the database if it is missing.
        """
        with _errors():
            if self.path is not None and not self.path.exists():
                _create_file(self.path)
            writer = self._engine.execution_options(begin="BEGIN IMMEDIATE")
            with Session(writer, expire_on_commit=False) as session, session.begin():
                connection = session.connection()
                if self.path is None:
                    _create_tables(connection)
                self._check(connection)
                if self.path is None:
                    connection.exec_driver_sql(
                        f"LOCK TABLE {Action.__tablename__} IN EXCLUSIVE MODE"
                    )
                yield session

    def stamp(self) -> object:
        """Return a value that differs after each change of a key."""
        with _errors():
            if self.path is None:
                # Each change of a key is an action, and no two are written at once.
                with Session(self._engine) as session:
                    return session.exec(select(sa.func.max(Action.action_id))).one()
            status = self.path.stat()
            fresh = abs(time.time_ns() - status.st_mtime_ns) < _TICK
            # A file that has just changed may change again at the same time.
            again = time.monotonic_ns() if fresh else 0
            return (status.st_ino, status.st_size, status.st_mtime_ns, again)

    def _check(self, connection: sa.Connection) -> None:
        """Refuse a damaged file, and a database that this code does not know."""
        shown = self.path or "it"
        if self.path is not None:
            problem = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
            if problem != "ok":
                raise ControlUnavailable(
                    f"{shown} is damaged ({problem}); restore it from a backup"
                )
        if not sa.inspect(connection).has_table(ControlSchema.__tablename__):
            raise ControlUnavailable(f"{shown} is no control database; correct SANKOFA_CONTROL")
        version = connection.scalar(select(ControlSchema.version))
        if version != SCHEMA:
            raise ControlUnavailable(
                f"{shown} has tables of version {version}, and this service knows version "
                f"{SCHEMA}; run the version of the service that made it"
            )


def _create_file(path: Path) -> None:
    """Create the file with its tables, or not at all; keep one that exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        new = Path(folder, path.name)
        # Private from the beginning: SQLite itself would follow the umask.
        os.close(os.open(new, os.O_CREAT | os.O_RDWR, 0o600))
        with _sqlite(new).begin() as connection:
            _create_tables(connection)
        # A link, because a rename would replace the file of a process that was faster.
        with suppress(FileExistsError):
            os.link(new, path)


def _create_tables(connection: sa.Connection) -> None:
    if not sa.inspect(connection).has_table(ControlSchema.__tablename__):
        ControlTable.metadata.create_all(connection)
        connection.execute(sa.insert(ControlSchema).values(version=SCHEMA))


def _sqlite(path: Path) -> sa.Engine:
    # A file that is missing is an error: only those who administer create one.
    connect = partial(sqlite3.connect, f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None)
    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # A change that was reported must survive a power failure.
        connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine


def _postgres(url: str) -> sa.Engine:
    scheme, _, rest = url.partition("://")
    if f"{scheme}://" not in POSTGRES:
        raise SankofaError("the control database is a file or postgresql://…; see SANKOFA_CONTROL")
    try:
        return sa.create_engine(
            f"postgresql+psycopg://{rest}",
            pool_pre_ping=True,
            connect_args={"connect_timeout": _CONNECT_SECONDS},
        )
    except (ArgumentError, ValueError):
        # The URL, which can contain a password, is not repeated.
        raise SankofaError(
            "the address of the control database cannot be read; write "
            "postgresql://user:password@host:port/name"
        ) from None
    except ModuleNotFoundError as error:
        raise SankofaError(
            "the control database is a PostgreSQL; install the extra `postgres`"
        ) from error


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise ControlUnavailable(in_one_line(error.orig or error)) from error
    # Of a damaged file, the driver cannot decode even what SQLite says of it.
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        raise ControlUnavailable(in_one_line(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ControlUnavailable(f"{where}{error.strerror}") from error


# The trail of operators: who did what, when and why, and whether it succeeded.

ActionKind = Literal[
    "keys create",
    "keys rotate",
    "keys revoke",
    "withhold",
    "release",
    "erase",
    "publish",
    "rollback",
    "builds drop",
]
ACTION_KINDS: tuple[ActionKind, ...] = get_args(ActionKind)


def current_user() -> str:
    """Return the name of the user, or unknown."""
    # Without an entry for the user id, as in some containers, there is no name.
    with suppress(OSError, KeyError):
        return getuser()
    return "unknown"


def new_action(kind: ActionKind, what: str, why: str) -> Action:
    """Return the row of an action that begins now, by the user of this process and machine."""
    who = f"{current_user()}@{socket.gethostname()}"
    return Action(kind=kind, what=what, why=why, who=who, began_at=datetime.now(UTC))


@contextmanager
def recorded(location: str, kind: ActionKind, what: str, why: str) -> Iterator[Action]:
    """Record an action before its work is done, and its outcome afterwards.

    What cannot be recorded is not done. ``what`` of the action may be made more exact meanwhile;
    it is stored for ever, and so has no name of a person.
    """
    database, action = ControlDatabase(location), new_action(kind, what, why)
    with database.writing() as session:
        session.add(action)
    try:
        yield action
    except BaseException as error:
        action.failure = in_one_line(error) or type(error).__name__
        raise
    finally:
        action.ended_at = datetime.now(UTC)
        with database.writing() as session:
            session.merge(action)


def list_actions(
    location: str, kind: ActionKind | None = None, since: datetime | None = None
) -> list[Action]:
    """Return the actions of a kind that began at or after a time, oldest first."""
    chosen = select(Action).order_by(col(Action.action_id))
    if kind is not None:
        chosen = chosen.where(Action.kind == kind)
    if since is not None:
        chosen = chosen.where(Action.began_at >= since)
    with ControlDatabase(location).reading() as session:
        return list(session.exec(chosen))
