"""The organisations of the sample world, each a pure function of its serial number.

Issuers, suppliers and public bodies appear in several sources with the same register number and
LEI, so that they can be joined. Every name contains the word Fictional.
"""

from dataclasses import dataclass

from stdnum import figi, isin
from stdnum.iso7064 import mod_97_10

from tests.sample_world.countries import COUNTRIES_BY_CODE, Country

# The country of each role; the role of an issuer decides what happens in its filings.
_ROLES = [
    "ZA",
    "NG",
    "KE",
    "EG",
    "MA",
    "GH",
    "NA",
    "CI",
    "MU",
    "CO",
    "ZA",
    "NG",
    "KE",
    "ZA",
    "GH",
    "CO",
    "ZA",
    "KE",
]
ISSUERS_PER_SCALE = len(_ROLES)
BANK, INSURER, RETAILER = 12, 13, 16
FIRST_CIK = 9_900_001

_LEI_KINDS = {"issuer": "A", "supplier": "B", "body": "C", "person": "D", "fund": "E"}
# Two issuers of different countries with one register number: a trap for joining by number.
_SHARED_REGISTER_SERIALS = {3: 48_213, 4: 48_213}


@dataclass(frozen=True)
class SampleOrganisation:
    """An organisation that does not exist, with the ids it would have."""

    kind: str
    serial: int
    name: str
    country: Country
    register_number: str
    lei: str

    @property
    def identifier(self) -> dict[str, str]:
        """The register entry as an OCDS identifier."""
        return {
            "scheme": self.country.scheme,
            "id": self.register_number,
            "legalName": self.name,
        }


def issuer(serial: int) -> SampleOrganisation:
    """Return the listed company of a serial number; the roles take turns."""
    country = COUNTRIES_BY_CODE[_ROLES[serial % ISSUERS_PER_SCALE]]
    name = company_name("issuer", serial, country.public_form)
    register_serial = _SHARED_REGISTER_SERIALS.get(serial, 100_003 + 37 * serial)
    number = country.register_number(register_serial)
    return SampleOrganisation(
        "issuer", serial, name, country, number, lei("issuer", country, serial)
    )


def role_of(company: SampleOrganisation) -> int:
    """Return the role of an issuer."""
    return company.serial % ISSUERS_PER_SCALE


def supplier(code: str, serial: int) -> SampleOrganisation:
    """Return the unlisted supplier of a country by its serial number."""
    country = COUNTRIES_BY_CODE[code]
    name = company_name("supplier", serial, country.private_form)
    number = country.register_number(400_009 + 41 * serial)
    return SampleOrganisation(
        "supplier", serial, name, country, number, lei("supplier", country, serial)
    )


def body(code: str, serial: int) -> SampleOrganisation:
    """Return the public body of a country by its serial number."""
    country = COUNTRIES_BY_CODE[code]
    name = body_name(code, serial)
    return SampleOrganisation(
        "body", serial, name, country, str(320 + serial), lei("body", country, serial)
    )


def lei(kind: str, country: Country, serial: int) -> str:
    """Return a legal entity identifier with valid check digits."""
    stem = f"989900{country.code}{_LEI_KINDS[kind]}{serial:09d}"
    return stem + str(mod_97_10.calc_check_digits(stem))


def isin_of(country: Country, serial: int, line: int = 0) -> str:
    """Return an ISIN with a valid check digit; a line is a share class."""
    stem = f"{country.code}F{serial:06d}{line:02d}"
    return stem + str(isin.calc_check_digit(stem))


def figi_of(serial: int, level: int) -> str:
    """Return a FIGI with a valid check digit: of the share class, the country or the listing."""
    stem = f"BBG9{level}{serial:06d}"
    return stem + str(figi.calc_check_digit(stem))


def ticker_of(company: SampleOrganisation) -> str:
    """Return the ticker of an issuer."""
    return company.name[:2].upper() + f"F{company.serial}"


def cik_of(company: SampleOrganisation) -> str:
    """Return the CIK of an issuer, in ten digits."""
    return f"{FIRST_CIK + company.serial:010d}"


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ISSUERS = _split(
    "Ubuntu Baobab Sahel Zambezi Karoo Savanna Harmattan Kilima Atlas Volta Namib Lagune Dodo "
    "Andina Ndovu Jabali Marula Protea Acacia Okavango Tamarind Rooibos Shea Cowrie Kente Djembe "
    "Fynbos Mopane Dune Delta Oasis Kudu Ibis Heron Mara Rift Lagoon Makuti Papyrus Sisal"
)
_TRADES = _split(
    "Mining Cement Telecom Foods Energy Logistics Breweries Textiles Pharma Steel Sugar Ports "
    "Retail Paper Chemicals Properties Water Timber Fisheries Engineering"
)
_ROLE_TRADES = {BANK: "Bank", INSURER: "Insurance", RETAILER: "Stores"}
_SUPPLIERS = _split(
    "Amani Bidii Faraja Imara Jitihada Kazi Maendeleo Nuru Pamoja Tumaini Umoja Upendo Wema Zawadi "
    "Aurora Boreal Camino Destello Esmeralda Faro Giralda Horizonte Iguana Jade"
)
_SERVICES = _split(
    "Supplies Builders Contractors Traders Services Cleaning Security Catering Electricals Works"
)
_PLACE_NAMES = _split(
    "Bay Hills Plains Valley River Lake Coast Forest Springs Ridge Harbour Meadow Falls Point "
    "Island Desert Grove Heights Crossing Fields"
)
_GIVEN_NAMES = _split(
    "Thandi Kofi Amina Juma Chidi Ngozi Yaw Wanjiru Omar Fatou Lucía Mateo Salma Tariq Adjoa "
    "Kwame Naledi Sipho Zola Camila"
)
_FAMILY_NAMES = _split(
    "Mokoena Mensah Otieno Adeyemi Diallo Haddad Benali Rojas Shikongo Ramgoolah Kouassi Mwangi "
    "Okafor Dlamini Asante Pardo Nangolo Boateng Kariuki Villamil"
)
_BODIES = {
    "ZA": (
        "Municipality of Fictional {}",
        "Fictional {} Water Board",
        "Fictional {} Regional Hospital",
        # No evidence that this is no person: a name such as this is withheld.
        "Fictional {} Provincial Department of Works",
    ),
    "KE": ("Fictional {} County Government", "Fictional {} National Polytechnic"),
    "CO": ("Alcaldía de Fictional {}", "Instituto de Desarrollo Fictional {}"),
    "NG": ("Federal Ministry of Fictional {}", "Fictional {} State Government"),
}


def company_name(kind: str, serial: int, form: str) -> str:
    """Return the name of a company; no two of a kind share one."""
    firsts, seconds = (_ISSUERS, _TRADES) if kind == "issuer" else (_SUPPLIERS, _SERVICES)
    rest, first = divmod(serial, len(firsts))
    block, second = rest // len(seconds), seconds[(first + rest) % len(seconds)]
    if kind == "issuer" and serial % ISSUERS_PER_SCALE in _ROLE_TRADES:
        block, second = rest, _ROLE_TRADES[serial % ISSUERS_PER_SCALE]
    words = (firsts[first], "Fictional", second, str(block + 1) if block else "", form)
    return " ".join(word for word in words if word)


def body_name(country: str, serial: int) -> str:
    """Return the name of a public body of a country."""
    shapes = _BODIES[country]
    block, position = divmod(serial // len(shapes), len(_PLACE_NAMES))
    name = shapes[serial % len(shapes)].format(_PLACE_NAMES[position])
    return f"{name} {block + 1}" if block else name


def person_name(serial: int) -> str:
    """Return the name of a person who does not exist; never with a legal form."""
    block, position = divmod(serial, len(_GIVEN_NAMES))
    family_name = _FAMILY_NAMES[(position + block) % len(_FAMILY_NAMES)]
    return f"{_GIVEN_NAMES[position]} Fictional-{family_name}"
