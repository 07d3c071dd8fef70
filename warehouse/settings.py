"""Settings: every ``SANKOFA_*`` environment variable with its type, default and meaning.

``read_settings`` is called once, at each entry point: the ``sankofa`` command, ``python -m api``,
``python -m mcp_server`` and the Dagster definitions. Everything below them is passed the values;
nothing else reads the environment. To add a setting, add a field to ``Settings`` and run
``python -m pipelines.docs``, which writes the table in ``docs/operating.md``.
"""

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from warehouse.errors import SankofaError
from warehouse.machine import cores, usable_memory_mb

# Nobody outside development should hash under this key: it is public.
DEVELOPMENT_WITHHELD_KEY = "sankofa development"
# The steps of a publication run in processes of this machine.
LOCAL = "local"
# A person opens some, a slider loads some more; one page takes about a fiftieth of a second.
PAGES_PER_MINUTE = 240
_PREFIX = "SANKOFA_"
# With the driver, as SQLAlchemy writes it: Dagster's tables do not work with the default one.
_RUNS_SCHEME = "postgresql+psycopg2://"


class SettingError(SankofaError):
    """A setting has a value that is not allowed; ``name`` is the environment variable."""

    def __init__(self, name: str, text: str, allowed: str, verb: str = "is") -> None:
        super().__init__(f"{name} {verb} {text!r:.120}; give {allowed}")
        self.name = name


class BadItem(ValueError):
    """One item of a list is not allowed; its text is the message."""


@dataclass(frozen=True)
class Kind:
    """A type of setting: how its text is parsed (ValueError if it cannot), and what is allowed."""

    parse: Callable[[str], Any]
    allowed: str = "any text"


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting.

    ``default`` is a text that is parsed like a given one, or a function of the settings declared
    before it. A name that ends in ``<SOURCE>`` or ``<PORTAL>`` is a family: one variable for each
    source, collected into a mapping by source key.
    """

    name: str
    kind: Kind
    meaning: str
    default: str | Callable[[Mapping[str, Any]], str] = ""
    default_meaning: str = ""

    @property
    def is_family(self) -> bool:
        """True if there is one variable for each source."""
        return self.name.endswith(">")

    @property
    def prefix(self) -> str:
        """The part of a family's name that all its variables share."""
        return self.name.partition("<")[0]


def variable_of(family: str, source: str) -> str:
    """Return the environment variable of one source in a family such as ``SANKOFA_BASE_``."""
    return family + source.upper().replace("-", "_")


def _whole_number(least: int) -> Kind:
    def parse(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if number < least:
            raise ValueError
        return number

    return Kind(parse, f"a whole number of at least {least}")


def _list_of(*choices: str) -> Kind:
    def parse(text: str) -> tuple[str, ...]:
        words = tuple(text.replace(",", " ").split())
        if choices and not set(words) <= set(choices):
            raise ValueError
        return words

    one_of = f"one or more of {', '.join(choices)}" if choices else "a list"
    return Kind(parse, f"{one_of}, separated by commas or spaces")


def _parse_ciks(text: str) -> tuple[str, ...]:
    words = text.replace(",", " ").split()
    signs, numbers = {word[0] in "+-" for word in words}, set[int]()
    for word in words:
        if not re.fullmatch(r"[+-]?[0-9]{1,10}", word):
            raise BadItem(word)
        number = int(word.lstrip("+-"))
        if (len(signs) == 2 and word[0] not in "+-") or (True in signs and number in numbers):
            raise BadItem(word)
        numbers.add(number)
    return tuple(words)


def _choice(*choices: str) -> Kind:
    def parse(text: str) -> str:
        if text.strip() not in choices:
            raise ValueError
        return text.strip()

    return Kind(parse, " or ".join(choices))


# A master of Spark: a standalone one, or one that is started for us on this machine.
_SPARK_MASTER = re.compile(
    r"spark://[^\s,/]+:[0-9]+(,[^\s,/]+:[0-9]+)*|local\[([1-9][0-9]*|\*)\]"
    r"|local-cluster\[ *[1-9][0-9]* *, *[1-9][0-9]* *, *[1-9][0-9]* *\]"
)


def _parse_compute(text: str) -> str:
    compute = text.strip()
    if compute != LOCAL and not _SPARK_MASTER.fullmatch(compute):
        raise ValueError
    return compute


def _parse_url(text: str) -> str:
    if not text.strip().startswith(("http://", "https://")):
        raise ValueError
    return text.strip().rstrip("/")


def _parse_beginning(text: str, *beginnings: str) -> str:
    if text.strip() and not text.strip().startswith(beginnings):
        raise ValueError
    return text.strip()


def _parse_contact(text: str) -> str:
    # It is sent as part of the User-Agent header.
    contact = text.strip()
    if not (contact.isascii() and contact.isprintable() and "." in contact):
        raise ValueError
    return contact


# A secret is taken as it is, byte for byte: trimming one would change what it hashes to.
_SECRET = Kind(str)
_TEXT = Kind(str.strip)
_TOKEN = Kind(str.strip)
_PLACE = Kind(lambda text: text.strip().rstrip("/") or "/")
_FOLDER = Kind(lambda text: Path(text).resolve(), "a folder")
_PATH = Kind(Path, "a path")
_FILE = Kind(lambda text: Path(text) if text else None, "a file")
_FILES = Kind(
    lambda text: tuple(Path(part.strip()).resolve() for part in text.split(",") if part.strip()),
    "files, separated by commas",
)
_NUMBER_OR_NONE = Kind(
    lambda text: _whole_number(1).parse(text) if text else None, _whole_number(1).allowed
)
_URL = Kind(_parse_url, "an http:// or https:// URL")
_CONTACT = Kind(
    lambda text: _parse_contact(text) if text else "", "an e-mail address or a web page"
)
_RUNS = Kind(
    lambda text: _parse_beginning(text, _RUNS_SCHEME),
    f"nothing, or an address that begins with {_RUNS_SCHEME}",
)
_EXECUTOR = Kind(
    lambda text: _parse_beginning(text, "redis://", "rediss://", "kubernetes"),
    "nothing, redis://… or kubernetes",
)
_WEBHOOK = Kind(
    lambda text: _parse_beginning(text, "http://", "https://"), "an http:// or https:// URL"
)
_LIST = _list_of()
_COMPUTE = Kind(
    _parse_compute,
    "local, or a master of Spark: spark://HOST:PORT, local[2] or local-cluster[2,1,1024] "
    "(executors, cores and MB of each)",
)
_CIKS = Kind(
    _parse_ciks,
    "CIKs of up to ten digits: either all bare, for only these, or each once with + or -, for "
    "those of the rule with more or less",
)


def _in_home(name: str) -> dict[str, Any]:
    return {
        "default": lambda settings: str(settings["home"] / name),
        "default_meaning": f"`{name}` in `SANKOFA_HOME`",
    }


# No repr: the URLs of stores can hold passwords.
@dataclass(frozen=True, repr=False)
class Settings:
    """The settings of one installation. Stores are each a path or a URL."""

    home: Annotated[
        Path, Setting("SANKOFA_HOME", _FOLDER, "Folder that holds everything.", ".sankofa")
    ]
    landing: Annotated[
        str,
        Setting(
            "SANKOFA_LANDING_URL",
            _PLACE,
            "Documents as fetched: a folder or an object store such as `s3://…`.",
            **_in_home("landing"),
        ),
    ]
    record: Annotated[
        str,
        Setting(
            "SANKOFA_RECORD_URL",
            _PLACE,
            "The record: a folder or [an object store](scaling.md#on-an-object-store) such as "
            "`s3://…`.",
            **_in_home("record"),
        ),
    ]
    marts: Annotated[
        str,
        Setting(
            "SANKOFA_MARTS", _TEXT, "Builds: a folder or `postgresql://…`.", **_in_home("marts")
        ),
    ]
    exports: Annotated[
        str,
        Setting(
            "SANKOFA_EXPORTS",
            _PLACE,
            "Bulk files: a folder or an object store such as `s3://…`.",
            **_in_home("exports"),
        ),
    ]
    pages: Annotated[
        str,
        Setting(
            "SANKOFA_PAGES",
            _PLACE,
            "HTML pages of each build: a folder or an object store such as `s3://…`.",
            **_in_home("docs"),
        ),
    ]
    control: Annotated[
        str,
        Setting(
            "SANKOFA_CONTROL",
            _TEXT,
            "Control database, of API keys and of operators' actions: a file or `postgresql://…`.",
            **_in_home("control.sqlite"),
        ),
    ]
    usage: Annotated[
        str,
        Setting(
            "SANKOFA_USAGE",
            _TEXT,
            "Usage counters: a file or `redis://…`.",
            **_in_home("usage.lmdb"),
        ),
    ]
    metrics: Annotated[
        str,
        Setting(
            "SANKOFA_METRICS",
            _TEXT,
            "Folder of [metrics](operating.md#watching-it) of the processes of this machine.",
            **_in_home("metrics"),
        ),
    ]
    runs: Annotated[
        str,
        Setting(
            "SANKOFA_RUNS",
            _RUNS,
            f"Dagster's runs and events: files, or `{_RUNS_SCHEME}…` for several machines.",
            default_meaning="files in `dagster` in `SANKOFA_HOME`",
        ),
    ]
    executor: Annotated[
        str,
        Setting(
            "SANKOFA_EXECUTOR",
            _EXECUTOR,
            "Who executes the steps of runs that Dagster starts: `redis://…` for the Celery "
            "workers of that broker, `kubernetes` for a pod each.",
            default_meaning="the process of the run",
        ),
    ]
    base_url: Annotated[
        str,
        Setting(
            "SANKOFA_BASE_URL",
            _URL,
            "Public URL of the service.",
            "http://127.0.0.1:8321",
        ),
    ]
    exports_url: Annotated[
        str,
        Setting(
            "SANKOFA_EXPORTS_URL",
            _URL,
            "Public URL of the bulk files.",
            lambda settings: f"{settings['base_url']}/exports",
            "`SANKOFA_BASE_URL` followed by `/exports`",
        ),
    ]
    mcp_url: Annotated[
        str, Setting("SANKOFA_MCP_URL", _TEXT, "URL of the MCP server, shown on the pages.")
    ]
    pages_per_minute: Annotated[
        int,
        Setting(
            "SANKOFA_PAGES_PER_MINUTE",
            _whole_number(0),
            "Pages that a process renders in a minute for one network, those that it has kept not "
            "counted; 0 for any number.",
            str(PAGES_PER_MINUTE),
        ),
    ]
    keep_builds: Annotated[
        int,
        Setting(
            "SANKOFA_KEEP_BUILDS",
            _whole_number(1),
            "Number of builds to keep; requests can pin them.",
            "30",
        ),
    ]
    vacuum_hours: Annotated[
        int,
        Setting(
            "SANKOFA_VACUUM_HOURS",
            _whole_number(1),
            "Age at which `sankofa compact` deletes files that the record no longer consists of: "
            "longer than any load or publication takes.",
            "24",
        ),
    ]
    landing_days: Annotated[
        int | None,
        Setting(
            "SANKOFA_LANDING_DAYS",
            _NUMBER_OR_NONE,
            "Days after which `sankofa compact` removes the bodies of documents that were read "
            "([retention](operating.md#retention-of-documents)).",
            default_meaning="they are kept for ever",
        ),
    ]
    compute: Annotated[
        str,
        Setting(
            "SANKOFA_COMPUTE",
            _COMPUTE,
            "Where publications are computed: `local`, in processes of this machine, or on "
            "[Spark](scaling.md): `spark://HOST:PORT`.",
            LOCAL,
        ),
    ]
    processes: Annotated[
        int,
        Setting(
            "SANKOFA_PROCESSES",
            _whole_number(1),
            "Processes that compute and read documents at the same time.",
            lambda _: str(cores()),
            "one for each core",
        ),
    ]
    document_mb: Annotated[
        int,
        Setting(
            "SANKOFA_DOCUMENT_MB",
            _whole_number(1),
            "[Limit](operating.md#limits-of-a-document) of one document that is read as a whole: "
            "MB when unpacked.",
            "128",
        ),
    ]
    stream_mb: Annotated[
        int,
        Setting(
            "SANKOFA_STREAM_MB",
            _whole_number(1),
            "Limit of one document that is read part by part: MB when unpacked.",
            str(64 << 10),
        ),
    ]
    document_memory_mb: Annotated[
        int,
        Setting(
            "SANKOFA_DOCUMENT_MEMORY_MB",
            _whole_number(64),
            "Limit of the memory for reading one document, beside 16 MB for each MB of it.",
            "192",
        ),
    ]
    document_seconds: Annotated[
        int,
        Setting(
            "SANKOFA_DOCUMENT_SECONDS",
            _whole_number(1),
            "Limit of CPU seconds for reading one document, beside 3 s for each MB of it.",
            "10",
        ),
    ]
    document_rejections: Annotated[
        int,
        Setting(
            "SANKOFA_DOCUMENT_REJECTIONS",
            _whole_number(1),
            "Limit of records of one document that are rejected, beside 500 for each MB of it.",
            "20000",
        ),
    ]
    memory_mb: Annotated[
        int,
        Setting(
            "SANKOFA_MEMORY_MB",
            _whole_number(256),
            "Memory that DuckDB may use in all these processes together; beyond that it spills "
            "to disk.",
            lambda _: str(max(usable_memory_mb(), 256)),
            "half of the machine's",
        ),
    ]
    tiers_file: Annotated[
        Path | None,
        Setting("SANKOFA_TIERS", _FILE, "JSON file that changes the row caps and limits of tiers."),
    ]
    withheld_key: Annotated[
        str,
        Setting(
            "SANKOFA_WITHHELD_KEY",
            _SECRET,
            "Secret under which withheld parties are hashed, of at least 32 characters. *Required* "
            "for real data; never change it afterwards.",
            DEVELOPMENT_WITHHELD_KEY,
            "a public word, for development",
        ),
    ]
    stale_hours: Annotated[
        int,
        Setting(
            "SANKOFA_STALE_HOURS",
            _whole_number(0),
            "Age at which `doctor` calls a build stale.",
            "48",
        ),
    ]
    least_free_mb: Annotated[
        int,
        Setting(
            "SANKOFA_LEAST_FREE_MB",
            _whole_number(0),
            "Free disk space below which `doctor` reports a fault.",
            "1024",
        ),
    ]
    alert_command: Annotated[
        str,
        Setting(
            "SANKOFA_ALERT_COMMAND",
            _TEXT,
            "Command that is run when a run fails or a publication is refused; "
            "[the alert](operating.md#alerts) is its standard input, as JSON.",
        ),
    ]
    alert_webhook: Annotated[
        str,
        Setting(
            "SANKOFA_ALERT_WEBHOOK",
            _WEBHOOK,
            "URL to which the same alert is sent by POST.",
        ),
    ]
    log_mb: Annotated[
        int,
        Setting(
            "SANKOFA_LOG_MB",
            _whole_number(1),
            "MB that the [log files](operating.md#the-log) of each server of `sankofa up` may "
            "take; the oldest lines go first.",
            "64",
        ),
    ]
    api_key: Annotated[
        str,
        Setting(
            "SANKOFA_API_KEY",
            _TOKEN,
            "API key of `sankofa mcp --stdio` and of the examples in these pages.",
        ),
    ]
    contact: Annotated[
        str,
        Setting(
            "SANKOFA_CONTACT",
            _CONTACT,
            "Your e-mail address or web page, sent to sources. *Required* for live sources.",
        ),
    ]
    turns: Annotated[
        Path,
        Setting(
            "SANKOFA_TURNS",
            _PATH,
            "Folder through which processes share the rate limit of each host.",
            lambda settings: str(Path(tempfile.gettempdir(), f"sankofa-turns-{os.getuid()}")),
            "a folder of the user in the system's temporary folder",
        ),
    ]
    source_urls: Annotated[
        Mapping[str, str],
        Setting(
            "SANKOFA_BASE_<SOURCE>",
            _URL,
            "Fetches a source from a mirror or a test server; documents keep the publisher's "
            "address.",
            default_meaning="see [sources.md](sources.md)",
        ),
    ]
    portal_files: Annotated[
        tuple[Path, ...],
        Setting(
            "SANKOFA_PORTALS",
            _FILES,
            "Files of further OCDS portals, as [add-a-portal.md](add-a-portal.md) describes.",
        ),
    ]
    list_files: Annotated[
        tuple[Path, ...],
        Setting(
            "SANKOFA_EXCHANGE_LISTS",
            _FILES,
            "Files of further exchange lists, or of licences cleared for built-in ones, as "
            "[add-an-exchange-list.md](add-an-exchange-list.md) describes.",
        ),
    ]
    table_files: Annotated[
        tuple[Path, ...],
        Setting(
            "SANKOFA_SERIES_TABLES",
            _FILES,
            "Files of further series in tables, or of licences cleared for built-in ones, as "
            "[add-a-table.md](add-a-table.md) describes.",
        ),
    ]
    ciks: Annotated[
        tuple[str, ...],
        Setting(
            "SANKOFA_CIKS",
            _CIKS,
            "SEC issuers by CIK: `1172724 314590` for only these; `+1756708 -917851` for those of "
            "the rule with one more and one less.",
            default_meaning="by [rule](sources.md#sec-issuers)",
        ),
    ]
    xbrl_countries: Annotated[
        tuple[str, ...],
        Setting(
            "SANKOFA_XBRL_COUNTRIES",
            _LIST,
            "Countries of filings.xbrl.org (currently refused).",
            default_meaning="a built-in list",
        ),
    ]
    indicators: Annotated[
        tuple[str, ...],
        Setting(
            "SANKOFA_INDICATORS", _LIST, "World Bank indicators.", default_meaning="a built-in list"
        ),
    ]
    ecb_keys: Annotated[
        tuple[str, ...],
        Setting("SANKOFA_ECB_KEYS", _LIST, "ECB series keys.", default_meaning="a built-in list"),
    ]
    fred_key: Annotated[
        str,
        Setting(
            "SANKOFA_FRED_KEY",
            _TOKEN,
            "FRED API key. *Required* for `alfred`.",
        ),
    ]
    fred_series: Annotated[
        tuple[str, ...],
        Setting("SANKOFA_FRED_SERIES", _LIST, "FRED series.", default_meaning="a built-in list"),
    ]
    h10_cadences: Annotated[
        tuple[str, ...],
        Setting(
            "SANKOFA_H10_CADENCES",
            _list_of("daily", "monthly", "annual"),
            "Files of H.10 to fetch.",
            "daily, monthly, annual",
        ),
    ]
    gleif_form: Annotated[
        str,
        Setting(
            "SANKOFA_GLEIF_FORM",
            _choice("json", "csv"),
            "Format of GLEIF's golden copy: json or csv.",
            "json",
        ),
    ]
    gleif_countries: Annotated[
        tuple[str, ...],
        Setting(
            "SANKOFA_GLEIF_COUNTRIES",
            _LIST,
            "Countries of `gleif-api`.",
            default_meaning="a built-in list",
        ),
    ]
    isins: Annotated[
        tuple[str, ...],
        Setting(
            "SANKOFA_ISINS",
            _LIST,
            "ISINs to look up at OpenFIGI.",
            default_meaning="a built-in list, and listed shares of the record without a FIGI",
        ),
    ]
    openfigi_key: Annotated[
        str,
        Setting(
            "SANKOFA_OPENFIGI_KEY",
            _TOKEN,
            "OpenFIGI API key; allows larger requests.",
        ),
    ]
    publications: Annotated[
        Mapping[str, str],
        Setting(
            "SANKOFA_PUBLICATION_<PORTAL>",
            _TEXT,
            "Number of a portal at data.open-contracting.org. *Required* for `co-secop`.",
            default_meaning="built in for `ng-budget`",
        ),
    ]
    from_environment: frozenset[str] = frozenset()

    def explicit(self, field_name: str) -> Any:
        """Return a setting that the environment sets; None if it has its default."""
        is_set = SETTINGS[field_name].name in self.from_environment
        return getattr(self, field_name) if is_set else None

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


# By field, in the order in which they are declared: a default may depend on settings before it.
SETTINGS: dict[str, Setting] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Settings, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read all settings from ``environment``; raise SettingError for a value not allowed.

    An empty variable counts as not set.
    """
    texts = {
        name: text
        for name, text in environment.items()
        if name.startswith(_PREFIX) and text.strip()
    }
    plain_names = {setting.name for setting in SETTINGS.values()}
    values: dict[str, Any] = {}
    for field_name, setting in SETTINGS.items():
        if setting.is_family:
            # The name of a variable cannot contain the hyphens of a source key.
            values[field_name] = {
                name.removeprefix(setting.prefix).lower().replace("_", "-"): _parse(
                    setting.kind, name, text
                )
                for name, text in texts.items()
                # SANKOFA_BASE_URL is a setting of its own, not the URL of a source "url".
                if name.startswith(setting.prefix) and name not in plain_names
            }
            continue
        default = setting.default if isinstance(setting.default, str) else setting.default(values)
        text = texts.get(setting.name, default)
        values[field_name] = _parse(setting.kind, setting.name, text)
    return Settings(**values, from_environment=frozenset(texts))


def readable_settings(environment: Mapping[str, str]) -> tuple[Settings, list[SettingError]]:
    """Read the settings, with the default for each bad one; also return what is wrong."""
    # read_settings stops at the first bad value: drop it and read again, until all are found.
    remaining, errors = dict(environment), list[SettingError]()
    while True:
        try:
            return read_settings(remaining), errors
        except SettingError as error:
            errors.append(error)
            del remaining[error.name]


def _parse(kind: Kind, name: str, text: str) -> Any:
    try:
        return kind.parse(text)
    except BadItem as error:
        raise SettingError(name, str(error), kind.allowed, "contains") from None
    except ValueError:
        raise SettingError(name, text, kind.allowed) from None
