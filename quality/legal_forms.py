"""Legal forms, as data: ISO 20275 and the forms of African registries.

How they are read is in ``forms``.
"""

from dataclasses import dataclass

from quality.name_words import phrases, words


@dataclass(frozen=True)
class ShortForm:
    """A form of two or three letters: elsewhere a surname, or someone's initials.

    It speaks for itself only in ``countries``, whose law knows it; where it is also a
    ``surname`` there, it needs dots or a comma before it. ``least`` words
    must precede it. In the countries where it is ``sure``, capitals are enough.
    """

    form: tuple[str, ...]
    countries: frozenset[str]
    surname: bool = False
    least: int = 1
    sure: frozenset[str] = frozenset()


# No surname, no initials: evidence at the end of a name, anywhere.
LONG_FORMS = phrases(
    "PTY LTD|PTY LIMITED|PROPRIETARY LIMITED|PROPRIETARY LTD|PTY|LTD|LIMITED|LTD GTE|PTE LTD|PTE"
    "|PVT LTD|PRIVATE LIMITED|PLC|PUBLIC LIMITED COMPANY|LLC|LLP|LLLP|LIMITED LIABILITY COMPANY"
    "|LIMITED LIABILITY PARTNERSHIP|LIMITED PARTNERSHIP|INC|INCORPORATED|CORP|CORPORATION"
    "|CO LTD|CO LIMITED|CO LLC"
    "|CO INC|CLOSE CORPORATION|NON PROFIT COMPANY|SOC LTD|SOC LIMITED|RF LTD|RF LIMITED"
    "|RF PTY LTD|NPC RF|SARL|SUARL|SARLU|SURL|EURL|SOCIETE ANONYME|LDA|LIMITADA|LTDA|LTDA ME"
    "|SOCIEDADE ANONIMA|SOCIEDAD ANONIMA|SOCIEDAD LIMITADA|SOCIEDADE POR QUOTAS|CIA LTDA"
    "|S EN C|S EN CS|SCA ESP|SA ESP|SAS ESP|SA ESP MIXTA|SA BIC|SAS BIC"
    "|SA DE CV|S A DE C V|SA DE C V|S A DE C|SA DE CV SOFOM ENR|SAB DE CV|SAPI DE CV"
    "|S DE RL|S DE R L|S DE RL DE CV|S DE R L DE CV|S DE RL MI|S DE R L DE C V|S DE R L DE C"
    "|S DE RL DE C|SRL DE CV|SPR DE RL|SC DE RL|SC DE RL DE CV|SRL|SPRL|SCRL|BVBA|SNC|SCOP"
    "|GMBH|GMBH CO KG|GMBH CO|UG HAFTUNGSBESCHRANKT|GESELLSCHAFT MIT BESCHRANKTER HAFTUNG"
    "|AKTIENGESELLSCHAFT|KGAA|OHG|SPA COM SOCIO UNICO|SP Z OO|SPOLKA AKCYJNA|SPOL SRO"
    "|KFT|ZRT|NYRT|OYJ|APS|JSC|OJSC|PJSC|CJSC|JOINT STOCK COMPANY"
    "|SDN BHD|BHD|FZE|FZCO|FZ LLC|WLL|EHF|OOO|BESLOTEN VENNOOTSCHAP"
    "|NAAMLOZE VENNOOTSCHAP|AKTIEBOLAG|TRUST COMPANY|COOPERATIVE SOCIETY|CO OPERATIVE SOCIETY"
    "|COOPERATIVE LIMITED|CO OPERATIVE LIMITED|SOCIEDADE UNIPESSOAL|UNIPESSOAL LDA"
    "|ООО|ОАО|ЗАО|ПАО|BPK|EDMS BPK|EDMS BEPERK|BEPERK|SARLAU|SARL AU|LTEE|CIE LTEE|EIRELI|EPP LTDA"
    "|LTDA EPP|LTD STI|LIMITED SIRKETI|ANONIM SIRKETI|SHARE COMPANY|LBG|LIMITED BY GUARANTEE|PLLC"
    "|NATIONAL ASSOCIATION|COMPANY LIMITED|COMMUNITY INTEREST COMPANY|MBH|EG MBH|SACCO LTD|TBK"
    "|SACCO LIMITED|SACCO SOCIETY|SCOOPS|SCOOP CA|COOP CA|PTY LTD NPC|SARL U|EMPRESA PUBLICA"
    "|SOCIEDAD POR ACCIONES SIMPLIFICADA|SOCIETE PAR ACTIONS SIMPLIFIEE|EMPRESA SOCIAL DEL ESTADO"
    "|SOCIETE A RESPONSABILITE LIMITEE|SOCIEDAD DE RESPONSABILIDAD LIMITADA|CREDIT UNION"
    "|SPOLKA Z OGRANICZONA ODPOWIEDZIALNOSCIA|GMBH COKG"
    "|SPOLKA KOMANDYTOWA|ULC|UNLIMITED COMPANY|SICAV|SCSP|SCA SICAV|UAB|LL C|ASBL|VZW|GGMBH"
    "|SA ESP BIC|CLG|CVBA|COMMV|HANDELSBOLAG|KOMMANDITBOLAG|EKONOMISK FORENING|PERSEROAN"
)

# Forms that stand before the name.
LEADING_FORMS = phrases(
    "SARL|SUARL|SARLU|EURL|SOCIETE ANONYME|LLC|JSC|OJSC|PJSC|CJSC|OOO|ООО|ОАО|ЗАО"
    "|ПАО|LIMITED LIABILITY COMPANY|OPEN JOINT STOCK COMPANY|JOINT STOCK COMPANY|STICHTING"
    "|FUNDACION|FUNDACAO|FONDATION|ASOCIACION|ASSOCIACAO|ASSOCIATION|COOPERATIVA|COOPERATIVE"
    "|SOCIETATEA CU RASPUNDERE LIMITATA|SRL"
)

_LATIN = words(
    "AO MZ CV GW ST GQ PT BR ES FR BE LU CH CO MX AR CL PE EC BO UY PY VE PA CR GT HN NI SV DO"
    " SN CI ML BF BJ TG NE GN CM GA CG CD TD CF DJ KM MG RW BI MA DZ TN MR HT PL RO GR"
)
_FRENCH_AFRICA = words("SN CI ML BF BJ TG NE GN CM GA CG CD TD CF DJ KM MG MA DZ TN MR HT")
_SOUTHERN = words("ZA NA LS SZ BW")

SHORT_FORMS = (
    ShortForm(("SA",), _LATIN, surname=True),
    ShortForm(("S", "A"), _LATIN, surname=True),
    ShortForm(("SA", "DE"), words("MX"), surname=True),
    ShortForm(("SA", "DE", "C"), words("MX"), surname=True),
    ShortForm(("SAS",), _FRENCH_AFRICA | {"CO", "EC", "AR", "DO"}),
    ShortForm(("SASU",), _FRENCH_AFRICA | {"FR"}),
    ShortForm(("CC",), _SOUTHERN),
    ShortForm(("NPC",), _SOUTHERN),
    ShortForm(("SOC",), _SOUTHERN),
    ShortForm(("RF",), _SOUTHERN),
    ShortForm(("SPA",), words("IT DZ CL")),
    ShortForm(("GIE",), _FRENCH_AFRICA | {"FR"}),
    ShortForm(("SCS",), _FRENCH_AFRICA | {"FR", "BE", "LU"}),
    ShortForm(("SCI",), _FRENCH_AFRICA | {"FR"}),
    ShortForm(("SL",), words("ES GQ")),
    ShortForm(("SLU",), words("ES GQ")),
    ShortForm(("SC",), words("MX ES PL")),
    ShortForm(("AC",), words("MX VE PE")),
    ShortForm(("ESP",), words("CO")),
    ShortForm(("EPE",), words("PT")),
    ShortForm(("EM",), words("PT AO MZ")),
    ShortForm(("IP",), words("PT AO MZ")),
    ShortForm(("EP",), words("AO MZ CV EC PT")),
    ShortForm(("AG",), words("DE CH AT LI")),
    ShortForm(("KG",), words("DE AT")),
    ShortForm(("SE",), words("DE FR AT NL BE LU"), surname=True, sure=words("DE AT")),
    ShortForm(("EV",), words("DE")),
    ShortForm(("NV",), words("NL BE SR CW")),
    ShortForm(("BV",), words("NL BE CW")),
    ShortForm(("VOF",), words("NL BE")),
    ShortForm(("AB",), words("SE FI"), surname=True, sure=words("SE")),
    ShortForm(("AS",), words("NO DK EE CZ SK TR LV"), surname=True, sure=words("NO DK")),
    ShortForm(("A", "S"), words("DK NO"), surname=True),
    ShortForm(("OY",), words("FI")),
    ShortForm(("LP",), words("US GB CA KY MU")),
    ShortForm(("PC",), words("US"), least=2),
    ShortForm(("PA",), words("")),
    ShortForm(("NA",), words("US"), surname=True, least=2),
    ShortForm(("SAE",), words("EG")),
    ShortForm(("SC",), words("ET"), surname=True),
    ShortForm(("ESE",), words("CO")),
    ShortForm(("PT",), words("ID"), surname=True),
    ShortForm(("SAU",), _FRENCH_AFRICA),
    ShortForm(("SIA",), words("LV"), surname=True),
    ShortForm(("DAC",), words("IE"), surname=True),
    ShortForm(("ASA",), words("NO"), surname=True, sure=words("NO")),
    ShortForm(("OU",), words("EE")),
    ShortForm(("DOO",), words("RS HR SI BA ME MK"), surname=True),
    ShortForm(("OOD",), words("BG")),
    ShortForm(("EOOD",), words("BG")),
    ShortForm(("EAD",), words("BG"), surname=True),
    ShortForm(("AD",), words("BG RS MK"), surname=True),
    ShortForm(("SRO",), words("CZ SK"), surname=True),
    ShortForm(("EG",), words("DE"), surname=True),
    ShortForm(("KDA",), words("BG")),
    ShortForm(("CIC",), words("GB")),
    ShortForm(("SACCO",), words("KE UG TZ RW"), surname=True),
    ShortForm(("COOPERATIVE",), words("")),
    ShortForm(("CO", "OPERATIVE"), words("")),
    ShortForm(("FOUNDATION",), words("")),
    ShortForm(("ASSOCIATION",), words("")),
)

# Forms of two or three letters that stand before the name where the law knows them.
LEADING_SHORT = {
    **dict.fromkeys(_FRENCH_AFRICA, phrases("GIE|SCI|SNC|SAS|SOCIETE COOPERATIVE")),
    "DZ": phrases("SPA|GIE|SNC"),
    "CO": phrases("ESE"),
    "ID": phrases("PT"),
    **dict.fromkeys(words("RU BY KZ KG UZ UA AM TJ MD"), phrases("OAO|ZAO|PAO")),
}

# Firms of partners bear several surnames, those of a profession with initials; elsewhere two
# plain words beside a firm are a person.
PROFESSIONS_FORMS = words("LLP LLLP PLLC PC ATTORNEYS ADVOCATES")
PARTNERS_FORMS = PROFESSIONS_FORMS | words("INC INCORPORATED LLC")

# Where people are listed as "Surname Initials": one word and two letters prove nothing.
INITIALS_CUSTOM = words("ZA NA LS SZ BW ZW ZM MW KE UG TZ RW NG GH SL LR GM MU IN GB IE NL FI")
