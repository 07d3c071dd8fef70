"""Settings: every ``SANKOFA_*`` environment variable with its type, default and meaning.

A home can have a file ``settings.env`` with lines ``NAME=value``; the environment goes before it.

``read_settings`` is called once, at each entry point: the ``sankofa`` command, ``python -m api``,
``python -m mcp_server`` and the Dagster definitions. Everything below them is passed the values;
nothing else reads the environment. To add a setting, add a field to ``Settings`` and its meaning to
``settings.csv``: the guide of settings lists it.
"""

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

from warehouse.shared.data_files import csv_rows
from warehouse.shared.errors import SankofaError

# Only development should hash under this key: it is public.
DEVELOPMENT_WITHHELD_KEY = "sankofa development"
# A person opens some, a slider loads some more; one page takes about a fiftieth of a second.
PAGES_PER_MINUTE = 240
HOME = ".sankofa"
SETTINGS_FILE = "settings.env"
_PREFIX = "SANKOFA_"
# With the driver, as SQLAlchemy writes it: Dagster's tables do not work with the default one.
_RUNS_SCHEME = "postgresql+psycopg2://"


class SettingError(SankofaError):
    """A setting has a value that is not allowed; ``name`` is the environment variable."""

    def __init__(self, name: str, text: str, allowed: str, verb: str = "is") -> None:
        super().__init__(f"{name} {verb} {text!r:.120}; give {allowed}")
        self.name = name


class BadItem(ValueError):
    """One item of a list is not allowed; the message says what is."""

    def __init__(self, item: str, allowed: str) -> None:
        super().__init__(allowed)
        self.item = item


def variable_of(family: str, source: str) -> str:
    """Return the environment variable of one source in a family such as ``SANKOFA_BASE_``."""
    return family + source.upper().replace("-", "_")


def _ciks(text: str) -> tuple[str, ...]:
    words = text.replace(",", " ").split()
    signs, numbers = {word[0] in "+-" for word in words}, set[int]()
    for word in words:
        bare = word.lstrip("+-")
        if (
            not re.fullmatch(r"[+-]?[0-9]{1,10}", word)
            or (len(signs) == 2 and word[0] not in "+-")
            or (True in signs and int(bare) in numbers)
        ):
            raise BadItem(
                word,
                "CIKs of up to ten digits: either all bare, for only these, or each once with + or "
                "-, for those of the rule with more or less",
            )
        numbers.add(int(bare))
    return tuple(words)


def _contact(text: str) -> str:
    # It is sent as part of the User-Agent header.
    if text and not (text.isascii() and text.isprintable() and "." in text):
        raise ValueError("an e-mail address or a web page")
    return text


def _beginning(allowed: str, *beginnings: str) -> AfterValidator:
    """Refuse a text, unless it is empty, that does not begin in one of these ways."""

    def check(text: str) -> str:
        if text and not text.startswith(beginnings):
            raise ValueError(allowed)
        return text

    return AfterValidator(check)


def _files(text: str) -> tuple[Path, ...]:
    return tuple(Path(part.strip()).resolve() for part in text.split(",") if part.strip())


# The types of settings. A validator raises ValueError with what is allowed.
Text = Annotated[str, AfterValidator(str.strip)]
Place = Annotated[Text, AfterValidator(lambda text: text.rstrip("/") or "/")]
Folder = Annotated[Path, AfterValidator(Path.resolve)]
Files = Annotated[tuple[Path, ...], BeforeValidator(_files)]
_SPLIT = BeforeValidator(lambda text: tuple(text.replace(",", " ").split()))
Words = Annotated[tuple[str, ...], _SPLIT]
Cadences = Annotated[tuple[Literal["daily", "monthly", "annual"], ...], _SPLIT]
Ciks = Annotated[tuple[str, ...], BeforeValidator(_ciks)]
Webhook = Annotated[Text, _beginning("an http:// or https:// URL", "http://", "https://")]
Url = Annotated[Webhook, AfterValidator(lambda text: text.rstrip("/"))]
RunsUrl = Annotated[
    Text, _beginning(f"nothing, or an address that begins with {_RUNS_SCHEME}", _RUNS_SCHEME)
]
Contact = Annotated[Text, AfterValidator(_contact)]


def _setting(default: Any = "", **options: Any) -> Any:
    """Declare a setting; its variable is ``SANKOFA_`` and the field, unless ``alias`` is given.

    ``default`` is a value, a text that is read like a given one, or a function of the settings
    declared before it. An alias that ends in ``<SOURCE>`` or ``<PORTAL>`` is a family: one
    variable for each source, collected into a mapping by source key.
    """
    if callable(default):
        return Field(default_factory=default, **options)
    return Field(default=default, **options)


def _in_home(path: str, alias: str | None = None) -> Any:
    options = {} if alias is None else {"alias": alias}
    return _setting(lambda settings: str(settings["home"] / path), **options)


# Where `sankofa up` writes at which address it serves a home: other commands name it.
SERVED_AT = "served-at"


def _served_url(settings: dict[str, Any]) -> str:
    written = settings["home"] / SERVED_AT
    return written.read_text() if written.is_file() else "http://127.0.0.1:8321"


# How many cores and how much memory this process may use: in a container less than there is.

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available_cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    # Linux only; macOS has no CPU affinity.
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(available_cores())


def spill_folder() -> str:
    """Return where a DuckDB may spill: a folder that it makes when it does, and deletes."""
    return str(Path(tempfile.gettempdir(), f"sankofa-spill-{uuid4().hex}"))


def usable_memory_mb() -> int:
    """Return how much memory DuckDB may use: half of what this process may.

    DuckDB counts what it buffers, not what Arrow, Python and other programs use in addition.
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in map(Path, _LIMITS):
        text = path.read_text().strip() if path.exists() else "max"
        limits += [int(text)] if text.isdecimal() else []
    return min(limits) >> 21


class Settings(BaseModel):
    """The settings of one installation. Stores are each a path or a URL."""

    model_config = ConfigDict(
        frozen=True,
        validate_default=True,
        alias_generator=lambda field: f"{_PREFIX}{field.upper()}",
    )

    home: Folder = _setting(HOME)
    landing: Place = _in_home("landing", "SANKOFA_LANDING_URL")
    record: Place = _in_home("record", "SANKOFA_RECORD_URL")
    marts: Text = _in_home("marts")
    shared_marts: Text = _setting()
    exports: Place = _in_home("exports")
    control: Text = _in_home("control.sqlite")
    usage: Text = _in_home("usage.lmdb")
    metrics: Text = _in_home("metrics")
    runs: RunsUrl = _setting()
    base_url: Url = _setting(_served_url)
    exports_url: Url = _setting(lambda settings: f"{settings['base_url']}/exports")
    mcp_url: Text = _setting()
    pages_per_minute: int = _setting(PAGES_PER_MINUTE, ge=0)
    keep_builds: int = _setting(30, ge=1)
    vacuum_hours: int = _setting(24, ge=1)
    landing_days: int | None = _setting(None, ge=1)
    compute: Text = _setting()
    compute_store: Place = _setting("")
    processes: int = _setting(lambda _: cores(), ge=1)
    document_mb: int = _setting(128, ge=1)
    stream_mb: int = _setting(64 << 10, ge=1)
    document_memory_mb: int = _setting(192, ge=64)
    document_seconds: int = _setting(10, ge=1)
    document_rejections: int = _setting(20000, ge=1)
    memory_mb: int = _setting(lambda _: max(usable_memory_mb(), 256), ge=256)
    tiers_file: Path | None = _setting(None, alias="SANKOFA_TIERS")
    withheld_key: str = _setting(DEVELOPMENT_WITHHELD_KEY)
    stale_hours: int = _setting(48, ge=0)
    least_free_mb: int = _setting(1024, ge=0)
    alert_command: Text = _setting()
    alert_webhook: Webhook = _setting()
    log_mb: int = _setting(64, ge=1)
    api_key: Text = _setting()
    contact: Contact = _setting()
    pricing_contact: Contact = _setting()
    turns: Path = _setting(lambda _: Path(tempfile.gettempdir(), f"sankofa-turns-{os.getuid()}"))
    source_urls: Mapping[str, Url] = _setting({}, alias="SANKOFA_BASE_<SOURCE>")
    portal_files: Files = _setting(alias="SANKOFA_PORTALS")
    list_files: Files = _setting(alias="SANKOFA_EXCHANGE_LISTS")
    table_files: Files = _setting(alias="SANKOFA_SERIES_TABLES")
    elements: bool = _setting(True)
    ciks: Ciks = _setting()
    indicators: Words = _setting()
    ecb_keys: Words = _setting()
    fred_key: Text = _setting()
    fred_series: Words = _setting()
    h10_cadences: Cadences = _setting("daily, monthly, annual")
    gleif_countries: Words = _setting()
    isins: Words = _setting()
    openfigi_key: Text = _setting()
    publications: Mapping[str, Text] = _setting({}, alias="SANKOFA_PUBLICATION_<PORTAL>")

    def __repr_args__(self) -> list[tuple[str, Any]]:
        """Return nothing: the URLs of stores can contain passwords."""
        return []

    def explicit(self, field_name: str) -> Any:
        """Return a setting that the environment sets; None if it has its default."""
        return getattr(self, field_name) if field_name in self.model_fields_set else None

    @property
    def sample(self) -> Path:
        """Folder of the sample world."""
        return self.home / "sample"

    @property
    def dagster(self) -> Path:
        """Folder of Dagster's own storage."""
        return self.home / "dagster"

    @property
    def logs(self) -> Path:
        """Folder of the log files of the servers that ``sankofa up`` runs."""
        return self.home / "logs"

    @property
    def work(self) -> Path:
        """Folder in which builds are staged and failed ones are kept."""
        return self.home / "stage"

    @property
    def caches(self) -> Path:
        """Folder of what can be made again from stores that are not in the home."""
        return self.home / "cache"

    @property
    def signing_key(self) -> Path:
        """Private key that signs manifests."""
        return self.home / "signing-key.pem"


@dataclass(frozen=True)
class Setting:
    """One setting: its environment variable, what it means, and its default in words."""

    name: str
    meaning: str
    default: str

    @property
    def is_family(self) -> bool:
        """True if there is one variable for each source."""
        return self.name.endswith(">")

    @property
    def prefix(self) -> str:
        """The part of a family's name that all its variables share."""
        return self.name.partition("<")[0]


def _described(info: FieldInfo, meaning: str, default: str) -> Setting:
    """Return a setting with what ``settings.csv`` says of it; a plain default is shown as it is."""
    if not default and info.default not in (PydanticUndefined, "", None):
        default = f"`{info.default}`"
    return Setting(info.alias or "", meaning, default)


_TEXTS = {row["field"]: (row["meaning"], row["default"]) for row in csv_rows(__name__, "settings")}
# By field, in the order in which they are declared: a default may depend on settings before it.
SETTINGS = {
    field: _described(info, *_TEXTS[field]) for field, info in Settings.model_fields.items()
}


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read all settings from the environment; raise SettingError for a value not allowed.

    An empty variable counts as not set.
    """
    try:
        return _validated(environment)
    except ValidationError as error:
        raise _explained(error)[0] from None


def readable_settings(environment: Mapping[str, str]) -> tuple[Settings, list[SettingError]]:
    """Read the settings, with the default for each bad one; also return what is wrong."""
    try:
        return _validated(environment), []
    except ValidationError as error:
        errors = _explained(error)
    bad = {each.name for each in errors}
    rest = {name: text for name, text in environment.items() if name not in bad}
    return read_settings(rest), errors


def store_setting(settings: Settings, name: str, text: str) -> Path:
    """Store a setting in the file of the home, which only its user can read; return the file.

    Raise SettingError, and store nothing, if its value is not allowed.
    """
    home = {"SANKOFA_HOME": str(settings.home)}
    stored = {**_stored(home), name: text}
    read_settings({**stored, **home})
    file = settings.home / SETTINGS_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.touch(0o600)
    partial.write_text("".join(f"{key}={value}\n" for key, value in stored.items()), "utf-8")
    partial.replace(file)
    return file


def _stored(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the file of a home."""
    file = Path(environment.get("SANKOFA_HOME") or HOME, SETTINGS_FILE)
    if not file.is_file():
        return {}
    settings: dict[str, str] = {}
    for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
        name, equals, text = (part.strip() for part in line.partition("="))
        if not name or name.startswith("#"):
            continue
        if not equals or not name.startswith(_PREFIX):
            raise SankofaError(f"{file}, line {number}: write {_PREFIX}NAME=value, or # first")
        settings[name] = text
    return settings


def _validated(environment: Mapping[str, str]) -> Settings:
    values: dict[str, Any] = {
        name: text
        for name, text in {**_stored(environment), **environment}.items()
        if name.startswith(_PREFIX) and text.strip()
    }
    # SANKOFA_BASE_URL is a setting of its own, not the URL of a source "url".
    plain_names = {setting.name for setting in SETTINGS.values()}
    for family in (setting for setting in SETTINGS.values() if setting.is_family):
        # The name of a variable cannot contain the hyphens of a source key.
        values[family.name] = {
            name.removeprefix(family.prefix).lower().replace("_", "-"): text
            for name, text in values.items()
            if name.startswith(family.prefix) and name not in plain_names
        }
    return Settings.model_validate(values)


def _explained(error: ValidationError) -> list[SettingError]:
    """Return what is wrong with each variable."""
    # A default that depends on a bad setting is no mistake of its own.
    given = (each for each in error.errors() if each["type"] != "default_factory_not_called")
    return [_setting_error(each) for each in given]


def _setting_error(error: ErrorDetails) -> SettingError:
    name, *below = map(str, error["loc"])
    if name.endswith(">"):
        name = variable_of(name.partition("<")[0], below[0])
    context = error.get("ctx", {})
    cause = context.get("error")
    if error["type"] == "literal_error":
        allowed = f"one or more of {context['expected']}"
        return SettingError(name, error["input"], allowed, "contains")
    if isinstance(cause, BadItem):
        return SettingError(name, cause.item, str(cause), "contains")
    if cause is not None:
        return SettingError(name, error["input"], str(cause))
    least = next(
        bound.ge
        for field in Settings.model_fields.values()
        for bound in field.metadata
        if field.alias == name and hasattr(bound, "ge")
    )
    return SettingError(name, error["input"], f"a whole number of at least {least}")
