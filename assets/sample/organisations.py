"""The organisations of the sample world, each a function of its number alone.

Issuers, suppliers and public bodies appear in several sources with the same
register number and LEI, so that they can be joined.
"""

from dataclasses import dataclass

from stdnum import isin
from stdnum.iso7064 import mod_97_10

from assets.sample.countries import COUNTRIES, COUNTRIES_BY_CODE, Country

ISSUERS_PER_SCALE = 12
FIRST_CIK = 9_900_001

_LEI_KINDS = {"issuer": "A", "supplier": "B", "body": "C", "person": "D", "fund": "E"}
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
        """Give its register entry in the form of an OCDS identifier."""
        return {
            "scheme": self.country.scheme,
            "id": self.register_number,
            "legalName": self.name,
        }


def issuer(serial: int) -> SampleOrganisation:
    """Give the listed company of a number; the countries take turns."""
    country = COUNTRIES[serial % ISSUERS_PER_SCALE % len(COUNTRIES)]
    name = company_name("issuer", serial, country.public_form)
    register_serial = _SHARED_REGISTER_SERIALS.get(serial, 100_003 + 37 * serial)
    number = country.register_number(register_serial)
    return SampleOrganisation(
        "issuer", serial, name, country, number, lei("issuer", country, serial)
    )


def supplier(code: str, serial: int) -> SampleOrganisation:
    """Give the unlisted supplier of a country by its number."""
    country = COUNTRIES_BY_CODE[code]
    name = company_name("supplier", serial, country.private_form)
    number = country.register_number(400_009 + 41 * serial)
    return SampleOrganisation(
        "supplier", serial, name, country, number, lei("supplier", country, serial)
    )


def body(code: str, serial: int) -> SampleOrganisation:
    """Give the public body of a country by its number."""
    country = COUNTRIES_BY_CODE[code]
    name = body_name(code, serial)
    return SampleOrganisation(
        "body", serial, name, country, str(320 + serial), lei("body", country, serial)
    )


def lei(kind: str, country: Country, serial: int) -> str:
    """Give a legal entity identifier with valid check digits."""
    stem = f"989900{country.code}{_LEI_KINDS[kind]}{serial:09d}"
    return stem + str(mod_97_10.calc_check_digits(stem))


def isin_of(country: Country, serial: int, line: int = 0) -> str:
    """Give a securities number with a valid check digit; a line is a share class."""
    stem = f"{country.code}F{serial:06d}{line:02d}"
    return stem + str(isin.calc_check_digit(stem))


def ticker_of(company: SampleOrganisation) -> str:
    """Give the ticker of an issuer."""
    return company.name[:2].upper() + f"F{company.serial}"


def cik_of(company: SampleOrganisation) -> str:
    """Give the ten digits under which an issuer files."""
    return f"{FIRST_CIK + company.serial:010d}"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ISSUERS = _words(
    "Ubuntu Baobab Sahel Zambezi Karoo Savanna Harmattan Kilima Atlas Volta Namib Lagune Dodo "
    "Andina Ndovu Jabali Marula Protea Acacia Okavango Tamarind Rooibos Shea Cowrie Kente Djembe "
    "Fynbos Mopane Dune Delta Oasis Kudu Ibis Heron Mara Rift Lagoon Makuti Papyrus Sisal"
)
_TRADES = _words(
    "Mining Cement Telecom Foods Energy Logistics Breweries Textiles Pharma Steel Sugar Ports "
    "Retail Paper Chemicals Properties Water Timber Fisheries Engineering"
)
_SUPPLIERS = _words(
    "Amani Bidii Faraja Imara Jitihada Kazi Maendeleo Nuru Pamoja Tumaini Umoja Upendo Wema Zawadi "
    "Aurora Boreal Camino Destello Esmeralda Faro Giralda Horizonte Iguana Jade"
)
_SERVICES = _words(
    "Supplies Builders Contractors Traders Services Cleaning Security Catering Electricals Works"
)
_PLACES = _words(
    "Bay Hills Plains Valley River Lake Coast Forest Springs Ridge Harbour Meadow Falls Point "
    "Island Desert Grove Heights Crossing Fields"
)
_GIVEN = _words(
    "Thandi Kofi Amina Juma Chidi Ngozi Yaw Wanjiru Omar Fatou Lucía Mateo Salma Tariq Adjoa "
    "Kwame Naledi Sipho Zola Camila"
)
_FAMILY = _words(
    "Mokoena Mensah Otieno Adeyemi Diallo Haddad Benali Rojas Shikongo Ramgoolah Kouassi Mwangi "
    "Okafor Dlamini Asante Pardo Nangolo Boateng Kariuki Villamil"
)
_BODIES = {
    "ZA": ("Municipality of Fictional {}", "Fictional {} Provincial Department of Works"),
    "KE": ("Fictional {} County Government", "Fictional {} National Polytechnic"),
    "CO": ("Alcaldía de Fictional {}", "Instituto de Desarrollo Fictional {}"),
    "NG": ("Federal Ministry of Fictional {}", "Fictional {} State Government"),
}


def company_name(kind: str, serial: int, form: str) -> str:
    """Name the company of a serial number; no two of a kind share a name."""
    firsts, seconds = (_ISSUERS, _TRADES) if kind == "issuer" else (_SUPPLIERS, _SERVICES)
    rest, first = divmod(serial, len(firsts))
    block, second = rest // len(seconds), seconds[(first + rest) % len(seconds)]
    words = (firsts[first], "Fictional", second, str(block + 1) if block else "", form)
    return " ".join(word for word in words if word)


def body_name(country: str, serial: int) -> str:
    """Name a public body of a country."""
    shapes = _BODIES[country]
    rest, place = divmod(serial // len(shapes), len(_PLACES))
    named = shapes[serial % len(shapes)].format(_PLACES[place])
    return f"{named} {rest + 1}" if rest else named


def person_name(serial: int) -> str:
    """Name a person who does not exist; never with a legal form."""
    rest, given = divmod(serial, len(_GIVEN))
    family = _FAMILY[(given + rest) % len(_FAMILY)]
    return f"{_GIVEN[given]} Fictional-{family}"
