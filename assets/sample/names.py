"""Names of the sample world: every organisation carries the word Fictional."""


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
