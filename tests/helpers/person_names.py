"""Names of people made up to be taken for organisations, by the country they are tried in.

No name is that of anyone in particular: common given names with common surnames.
"""

from collections.abc import Callable
from dataclasses import dataclass


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.strip().split("\n"))


# Plain names, with words that are also a legal form, a trade or a public body.
PLAIN = {
    "ZA": _names("""
        Thabo Mokoena
        Mokoena CC
        Janse van Rensburg CC
        Smith-Jones CC
        O'Brien CC
        D'Souza RF
        Koos van der Bank
        van der Bank CC
        van der Bank S.A.
        Van der Bank SA
        Dlamini, Sipho
        DLAMINI S A
        Naidoo, S.A.
        J P van der Merwe
        Mokoena - Thabo
        Municipal Manager John Doe
        University graduate John Doe
        Hospital worker Thabo Mokoena
        Thabo Mokoena Department of Health
        Mokoena - Department of Health
        Thabo Mokoena - Department of Health
        Department of Health Thabo Mokoena
        Koos van der Bank, Department of Health
        Gauteng - Health Thabo Mokoena
        Gauteng Department of Health: Thabo
        Office of John Doe
        Office of the Premier John Doe
        King Mokoena
        Minister Dlamini
        State Mokoena
        Council Nkosi
        Innocent King Inc-Nkosi
        Estate Late J Doe
        Insolvent Estate J Doe
        The Trustees of the J Doe Family Trust
        Doe Family Trust
        Federal Nkosi
    """),
    "ZW": _names("""
        Authority Moyo
        Moyo Authority
        Ncube Sipho Authority
        Treasury Sibanda
        Ministry Ndlovu
        Parliament Dube
        Trust Moyo
        Limited-edition Moyo
        Memory Bank
    """),
    "NG": _names("""
        Chukwuemeka Okafor
        Adebayo Oluwaseun Adeyemi
        Musa Ibrahim Kano
        Alh. Musa Bello
        Alhaji Bank Musa
        Chief Emeka Ltd-Okafor
        Engr. Ngozi Eze
        Ngozi Corporation-Eze Obi
        Blessing Co
        Goodluck State
        Emeka Ag
        Adeyemi S.A.
        Federal Ibrahim Musa
        Bello Public Service
    """),
    "KE": _names("""
        Wanjiku Kamau
        Otieno, James
        James Otieno Co
        Kiprotich A. C.
        Mwangi S.C.
        Hon. Wanjiru Njoroge
        Kamau Sacco
        Wanjiku Sacco
        Njoroge University student
        County Government worker Otieno
    """),
    "GH": _names("""
        Kwame Asa
        Kofi Mensah
        Nana Akua Sarpong
        Yaw Doo
        Ama Sa
        Abena Inc-Owusu
    """),
    "ET": _names("""
        Abebe Bikila Tesfaye
        Tesfaye S.C.
        Almaz Plc-Bekele
        Hailu Se
    """),
    "EG": _names("""
        Mohamed Ead
        Ahmed Abdel Rahman Ead
        Fatma Sae-Hassan
        Mahmoud El Sayed
        Ag Mohamed
        Sayed Co
    """),
    "ML": _names("""
        Iyad Ag Mohamed
        Mohamed Ag Intalla
        Mamadou Sa
        MAMADOU SA
        Fatoumata Se
        Moussa Ba
        Aminata SY
        Gie Traore
    """),
    "SN": _names("""
        Ousmane Sow
        Mamadou Ly
        Sade SA
        Mame Diarra Sa
        Jean-Marie Sa
        Ets Mamadou Diop
        Établissements Diop
        Entreprise Individuelle Awa Diop
        Awa Diop EI
        Awa Diop Auto-entrepreneur
        Awa Diop (personne physique)
        Maire Ousmane Sow Commune de Dakar
        Ministère Diop
    """),
    "MG": _names("""
        Rakotomalala Andriamanitra
        RAKOTO Jean SA
        Rasoanirina Voahangy
        Razafy, Hery
    """),
    "IN": _names("""
        Rajesh Kumar
        Smt Lakshmi Devi
        Shri Anil Sharma
        R. K. Law
        S. A. Khan
        Priya As
    """),
    "VN": _names("""
        Nguyen Van An
        Tran Thi Ta
        Ta Van Oy
        Nguyen Thi Se
    """),
    "CN": _names("""
        Wei Ou
        Ou Wei
        Zao Li
        Pao Lin
        Li Pao
        Wang Bank
        Co Ab
        Sun Se
        Ong Bee Co
        Ong Teck Sa
    """),
    "KR": _names("""
        Kim Doo
        Park & Lee Na
        Mary Na
        Kim Sae
    """),
    "PT": _names("""
        João Sá
        Maria Sa
        MARIA SALES SA
        João Sales Sá
        Estácio de Sá
        Ana Bv
        Rui Em
        João Silva ME
        João Silva MEI
        João Silva (empresário em nome individual)
        João Silva Empresário Individual
        Herdeiros de João Silva
        Ana Silva Município de Nada
        Secretaria de João Silva
        Ana Silva Universidade Aberta
    """),
    "AO": _names("""
        Domingos de Sá
        Isabel Sa
        ANTONIO BANCO SA
    """),
    "CO": _names("""
        Juan Pérez Gómez
        María Fernanda Ruiz Solar
        JUAN SAS
        MARIA COLOMBIA SA
        Juan Solar SA
        Ana Ruiz Ministerio de Nada
        Ana Ruiz Alcaldía de Nada
        Alcaldesa Ana Ruiz Alcaldía de Nada
        Ana Ruiz (Municipio de Nada)
        Docente Ana Ruiz Universidad de Nada
        Persona natural Juan Ruiz
        Luis Pérez y Ana Ruiz
    """),
    "MX": _names("""
        José Luis Hernández García
        HERNANDEZ GARCIA JOSE LUIS
        María de la Luz Sa
        Guadalupe México Sa
        Juan Pérez (persona física)
        Juan Pérez Persona Física con Actividad Empresarial
        Lic. Ana Ruiz
    """),
    "BR": _names("""
        João da Silva Sales
        João da Silva ME
        JOAO DA SILVA 12345678900
        Maria Sá
    """),
    "US": _names("""
        John Smith
        John Smith, PA
        John Smith P.A.
        Mary Smith, M.D.
        John Smith Esq
        John Smith III
        Nicola Sacco
        John and Mary Smith
        John Smith & Mary Jones
        JOHN & MARY NA
        JOHN SMITH & MARY SAS
        Smith, P.C.
        John Smith IRA
        Charter Bank FBO John Smith
        Law, Jude
    """),
    "FR": _names("""
        Jean Dupont
        Dupont, Jean
        DUPONT Jean EI
        Jean Dupont EIRL
        Marie Se
        Jean-Pierre Sas
        Mme Dupont SARL
    """),
    "FI": _names("""
        Matti Virtanen
        Virtanen OY
        Anna Ab
    """),
    "NL": _names("""
        Jan van der Bv
        Bakker NV
        Jan Se
    """),
}

# A person together with a firm, or for one.
_BESIDE = _names("""
    John Smith & Acme Ltd
    John Smith and Acme Ltd
    John Smith + Acme Ltd
    John Smith plus Acme Ltd
    John Smith with Acme Ltd
    John Smith, Acme Ltd
    John Smith; Acme Ltd
    John Smith / Acme Ltd
    John Smith | Acme Ltd
    John Smith - Acme Ltd
    John Smith – Acme Ltd
    John Smith: Acme Ltd
    John Smith (Acme Ltd)
    Acme (John Smith) Ltd
    Acme Ltd (John Smith)
    Acme Ltd & John Smith
    Acme Ltd & John Smith & Beta Ltd
    Acme Ltd, John Smith and Beta Ltd
    Acme and John Smith and Beta Ltd
    Mary Jones, John Smith & Acme Ltd
    Acme Ltd c/o John Smith
    John Smith c/o Acme Ltd
    John Smith C / O Acme Ltd
    John Smith on behalf of Acme Ltd
    John Smith obo Acme Ltd
    John Smith o.b.o. Acme Ltd
    John Smith for Acme Ltd
    John Smith of Acme Ltd
    John Smith at Acme Ltd
    John Smith representing Acme Ltd
    Acme represented by John Smith Ltd
    John Smith, Director of Acme Ltd
    John Smith Director Acme Ltd
    John Smith t/a Acme Ltd
    John Smith T/As Acme Ltd
    John Smith t / a Acme Ltd
    John Smith t\\a Acme Ltd
    John Smith t.a. Acme Ltd
    John Smith TA Acme Ltd
    John Smith tradlng as Acme Ltd
    John Smith trading-as Acme Ltd
    John Smith d/b/a Acme Ltd
    John Smith d.b.a. Acme Inc
    John Smith a/k/a Acme Inc
    John Smith and Acme Inc
    J. Smith & Acme Inc
    J Smith & Acme Ltd
    Smith, J & Acme Ltd
    Thabo Mokoena & Acme (Pty) Ltd
    T Mokoena and Acme (Pty) Ltd
    Thabo Mokoena en Acme (Edms) Bpk
    Juan Pérez y Acme S.A. de C.V.
    Juan Pérez Gómez y Acme Ltda
    Juan Pérez e Acme Lda
    João Silva e Acme, Lda
    Jean Dupont et Acme SARL
    Jean Dupont représentant Acme SARL
    Acme SARL représentée par Jean Dupont
    Acme representada por Juan Perez Ltda
    Jean Dupont und Acme GmbH
    Chukwuemeka Okafor & Acme Nigeria Limited
    John Smith；Acme Ltd
    John Smith／Acme Ltd
    John Smith ＆ Acme Ltd
    Proprietor John Smith Acme Ltd
    John Smith (Proprietor) Acme Ltd
    John Smith nominee of Acme Ltd
    Acme Ltd FBO John Smith
    Cllr John Smith Acme Ltd
    Engr John Smith & Co Ltd
    Rev. John Smith and Acme Ltd
""")
BESIDE_A_FIRM = (*_BESIDE, "John Smith\nAcme Ltd", "John Smith\tAcme Ltd")


def _lookalike(name: str) -> str:
    return name.translate(str.maketrans("AaeoOpcTMxIiBHKs", "АаеоОрсТМхІіВНКѕ"))


def _greek(name: str) -> str:
    return name.translate(str.maketrans("AoOTMIBHKN", "ΑοΟΤΜΙΒΗΚΝ"))


def _full_width(name: str) -> str:
    return "".join(chr(ord(item) + 0xFEE0) if "!" <= item <= "~" else item for item in name)


# How a name may be written and stay the same name.
DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "double blanks": lambda name: f"  {name.replace(' ', '  ')} ",
    "no-break blanks": lambda name: name.replace(" ", "\u00a0"),
    "zero width": lambda name: "\u200b".join(name),
    "soft hyphens": lambda name: "\u00ad".join(name),
    "right to left": lambda name: f"\u202b{name}\u202c\u200f",
    "Cyrillic": _lookalike,
    "Greek": lambda name: _greek(name.upper()),
    "full width": _full_width,
    "full stop": lambda name: f"{name}.",
    "quoted": lambda name: f'"{name}"',
    "numbered": lambda name: f"1. {name}",
    "telephone": lambda name: f"{name} 082 123 4567",
}


@dataclass(frozen=True)
class Numbered:
    """A name that looks like a firm's under a number that only a person or a trader has."""

    name: str
    country: str
    scheme: str
    identifier: str


# Numbers are made up; their shape is that of a natural person's.
NUMBERED = (
    Numbered("Comercial Pérez SA de CV", "MX", "MX-RFC", "PEGJ800101AB1"),
    Numbered("Juan Pérez", "MX", "MX-RFC", "PEGJ800101AB1"),
    Numbered("Juan Pérez", "CO", "CO-NIT", "79123456-1"),
    Numbered("Juan Pérez", "CO", "CO-CC", "79123456"),
    Numbered("Acme S.A.S.", "CO", "CO-CC", "79123456"),
    Numbered("Juan Pérez", "PE", "PE-RUC", "10123456789"),
    Numbered("Acme S.R.L.", "PE", "PE-RUC", "10123456789"),
    Numbered("Juan Pérez", "AR", "AR-CUIT", "20-12345678-9"),
    Numbered("Acme S.R.L.", "AR", "AR-CUIT", "27123456789"),
    Numbered("James Otieno", "KE", "KE-PIN", "A001234567X"),
    Numbered("Acme Ltd", "KE", "KE-KRA", "A001234567X"),
    Numbered("Thabo Mokoena", "ZA", "ZA-CSD", "MAAA0123456"),
    Numbered("Thabo Mokoena", "ZA", "ZA-ID", "8001015009087"),
    Numbered("Acme (Pty) Ltd", "ZA", "ZA-ID", "8001015009087"),
    Numbered("João Silva", "PT", "PT-NIPPC", "123456789"),
    Numbered("João Silva Lda", "BR", "BR-CPF", "123.456.789-09"),
    Numbered("Emeka Okafor", "NG", "NG-CAC", "BN 1234567"),
    Numbered("Acme Ltd", "NG", "NG-CAC", "BN 1234567"),
    Numbered("Juan Pérez", "EC", "EC-RUC", "1712345678001"),
    Numbered("James Otieno", "KE", "KE-NCB", "12345678"),
    Numbered("John Smith; Acme", "GB", "GB-COH", "04366849"),
    Numbered("John Smith / Acme Ltd", "GB", "GB-COH", "04366849"),
    Numbered("Alcalde Juan Pérez", "PT", "PT-NIPPC", "506804240"),
)
