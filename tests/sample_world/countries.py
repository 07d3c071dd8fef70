"""The countries of the sample world: real codes, invented registers.

The registration authority ids (``RA99....``) do not exist in GLEIF's list.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Country:
    """A country as the different sources write it."""

    code: str
    iso3: str
    name: str
    edgar: str
    currency: str
    mic: str
    scheme: str
    authority: str
    public_form: str
    private_form: str
    legal_form_codes: tuple[str, str]
    language: str
    city: str
    register: str

    def register_number(self, serial: int) -> str:
        """Format a serial number as the country's company register does."""
        year = 1990 + serial % 30
        return self.register.format(year=year, n=serial % 1_000_000)


_OTHER = ("8888", "8888")

COUNTRIES = (
    Country(
        "ZA", "ZAF", "South Africa", "T3", "ZAR", "XJSE", "ZA-CIP", "RA990001", "Ltd", "(Pty) Ltd",
        ("XE4Z", "GQVQ"), "en", "Johannesburg", "{year}/{n:06d}/06",
    ),
    Country(
        "NG", "NGA", "Nigeria", "Q5", "NGN", "XNSA", "NG-CAC", "RA990002", "Plc", "Ltd",
        _OTHER, "en", "Lagos", "RC{n:06d}",
    ),
    Country(
        "KE", "KEN", "Kenya", "M3", "KES", "XNAI", "KE-RCO", "RA990003", "PLC", "Limited",
        _OTHER, "en", "Nairobi", "CPR/{year}/{n:06d}",
    ),
    Country(
        "EG", "EGY", "Egypt", "H2", "EGP", "XCAI", "EG-CR", "RA990004", "S.A.E.", "LLC",
        _OTHER, "en", "Cairo", "{n:06d}",
    ),
    Country(
        "MA", "MAR", "Morocco", "P2", "MAD", "XCAS", "MA-CR", "RA990005", "S.A.", "SARL",
        _OTHER, "fr", "Casablanca", "{n:06d}",
    ),
    Country(
        "GH", "GHA", "Ghana", "J0", "GHS", "XGHA", "GH-RGD", "RA990006", "PLC", "Ltd",
        ("VBJW", "56NA"), "en", "Accra", "CS{n:06d}{year}",
    ),
    Country(
        "NA", "NAM", "Namibia", "T6", "NAD", "XNAM", "NA-BIPA", "RA990007", "Ltd", "(Pty) Ltd",
        _OTHER, "en", "Windhoek", "{year}/{n:06d}",
    ),
    Country(
        "CI", "CIV", "Cote d'Ivoire", "L7", "XOF", "XBRV", "CI-CR", "RA990008", "SA", "SARL",
        _OTHER, "fr", "Abidjan", "CI-ABJ-{year}-B-{n:06d}",
    ),
    Country(
        "MU", "MUS", "Mauritius", "O4", "MUR", "XMAU", "MU-CR", "RA990009", "Ltd", "Ltée",
        ("XXCZ", "G7H0"), "en", "Port Louis", "C{n:06d}",
    ),
    Country(
        "CO", "COL", "Colombia", "F8", "COP", "XBOG", "CO-RUE", "RA990010", "S.A.", "S.A.S.",
        _OTHER, "es", "Bogotá", "900{n:06d}",
    ),
)  # fmt: skip

# Only its own sources know it: those of all countries, and their figures, stay as they are.
BRAZIL = Country(
    "BR", "BRA", "Brazil", "D5", "BRL", "BVMF", "BR-CNPJ", "RA990011", "S.A.", "Ltda.",
    _OTHER, "pt", "São Paulo", "{n:06d}",
)  # fmt: skip

COUNTRIES_BY_CODE = {country.code: country for country in COUNTRIES}
