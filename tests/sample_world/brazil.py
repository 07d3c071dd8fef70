"""Brazil's CVM: zips of annual statements, which show latest versions only, and its register.

A zip has the documents of one year and is read more than once. What a company files again
replaces what it filed before: the figures of the first version are in the first reading alone,
while the index goes on listing both. Years and readings are the same in every world, except the
last reading, which is counted back from the day.
"""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from stdnum.br import cnpj

from tests.sample_world.countries import BRAZIL
from tests.sample_world.organisations import SampleOrganisation, lei, person_name
from tests.sample_world.statements import Figures, restated, statement
from tests.sample_world.writer import WorldWriter

CVM, REGISTER = "cvm", "cvm-register"

_PER_SCALE = 2
_FIRST_YEAR = 2023
# Days of the year after: when a document is filed, and when the zip is read for the first time.
_FILED, _READ = "03-24", "04-15"
# The company that files its first year again, and the one that does so shortly before the end.
_RESTATED, _RESTATED_LAST = 0, 1
_FILED_AGAIN, _READ_AGAIN = "2024-09-09", "2024-09-16"
# The same at the end, in days before that of the world.
_FILED_LAST, _READ_LAST = 12, 5
_REGISTER_READ = 3
_FIRST_CODE = 900_001
# Near the end of the range of numbers, where the federal register has hardly given any.
_FIRST_ROOT = 99_980_001
_FIRST_OFFICER = 500

_NAMES = ("Jequitibá", "Araucária", "Caatinga", "Cerrado", "Pantanal", "Buriti", "Sabiá")
_TRADES = ("Energia", "Papel", "Alimentos", "Siderurgia", "Logística", "Saneamento")

_COMPANY = "CNPJ_CIA;DT_REFER;VERSAO;DENOM_CIA;CD_CVM"
_AMOUNT = "DT_FIM_EXERC;CD_CONTA;DS_CONTA;VL_CONTA;ST_CONTA_FIXA"
_STATED = f"{_COMPANY};GRUPO_DFP;MOEDA;ESCALA_MOEDA;ORDEM_EXERC"
_INDEX = f"{_COMPANY};CATEG_DOC;ID_DOC;DT_RECEB;LINK_DOC"
_REGISTER_COLUMNS = (
    "CNPJ_CIA;DENOM_SOCIAL;DENOM_COMERC;DT_REG;DT_CONST;DT_CANCEL;MOTIVO_CANCEL;SIT;DT_INI_SIT;"
    "CD_CVM;SETOR_ATIV;TP_MERC;CATEG_REG;DT_INI_CATEG;SIT_EMISSOR;DT_INI_SIT_EMISSOR;"
    "CONTROLE_ACIONARIO;TP_ENDER;LOGRADOURO;COMPL;BAIRRO;MUN;UF;PAIS;CEP;DDD_TEL;TEL;DDD_FAX;FAX;"
    "EMAIL;TP_RESP;RESP;DT_INI_RESP;LOGRADOURO_RESP;COMPL_RESP;BAIRRO_RESP;MUN_RESP;UF_RESP;"
    "PAIS_RESP;CEP_RESP;DDD_TEL_RESP;TEL_RESP;DDD_FAX_RESP;FAX_RESP;EMAIL_RESP;CNPJ_AUDITOR;AUDITOR"
)

# The files of a zip: what their documents are called, and the accounts with the lines they state.
# A minus says that CVM writes the line as a negative amount.
_ASSETS = (
    ("1", "Ativo Total", "total_assets"),
    ("1.01", "Ativo Circulante", "current_assets"),
    ("1.01.01", "Caixa e Equivalentes de Caixa", "cash"),
    ("1.01.03", "Contas a Receber", "receivables"),
    ("1.01.04", "Estoques", "inventories"),
    ("1.02", "Ativo Não Circulante", "non_current_assets"),
)
_LIABILITIES = (
    ("2", "Passivo Total", "total_assets"),
    ("2.01", "Passivo Circulante", "current_liabilities"),
    ("2.01.02", "Fornecedores", "payables"),
    ("2.01.04", "Empréstimos e Financiamentos", "borrowings_current"),
    ("2.02", "Passivo Não Circulante", "non_current_liabilities"),
    ("2.02.01", "Empréstimos e Financiamentos", "borrowings_non_current"),
    ("2.03", "Patrimônio Líquido Consolidado", "total_equity"),
    ("2.03.09", "Participação dos Acionistas Não Controladores", "equity_minority"),
)
_INCOME = (
    ("3.01", "Receita de Venda de Bens e/ou Serviços", "revenue"),
    ("3.02", "Custo dos Bens e/ou Serviços Vendidos", "-cost_of_sales"),
    ("3.03", "Resultado Bruto", "gross_profit"),
    ("3.05", "Resultado Antes do Resultado Financeiro e dos Tributos", "operating_profit"),
    ("3.06", "Resultado Financeiro", "-finance_costs"),
    ("3.06.02", "Despesas Financeiras", "-finance_costs"),
    ("3.07", "Resultado Antes dos Tributos sobre o Lucro", "profit_before_tax"),
    ("3.08", "Imposto de Renda e Contribuição Social sobre o Lucro", "-income_tax_expense"),
    ("3.11", "Lucro/Prejuízo Consolidado do Período", "profit"),
    ("3.11.01", "Atribuído a Sócios da Empresa Controladora", "profit_attributable"),
    ("3.11.02", "Atribuído a Sócios Não Controladores", "profit_minority"),
)
_CASH_FLOWS = (
    ("6.01", "Caixa Líquido Atividades Operacionais", "cfo"),
    ("6.02", "Caixa Líquido Atividades de Investimento", "-capex"),
    ("6.03", "Caixa Líquido Atividades de Financiamento", "-dividends_paid"),
)
_FILES = {
    "BPA": ("Balanço Patrimonial Ativo", _ASSETS),
    "BPP": ("Balanço Patrimonial Passivo", _LIABILITIES),
    "DRE": ("Demonstração do Resultado", _INCOME),
    "DFC_MI": ("Demonstração do Fluxo de Caixa (Método Indireto)", _CASH_FLOWS),
}
_BALANCES = ("BPA", "BPP")


@dataclass(frozen=True)
class _Version:
    """A version of the annual document of a company, and the day on which CVM received it."""

    company: SampleOrganisation
    year: int
    number: int
    received: str

    @property
    def company_cells(self) -> tuple[str, ...]:
        """The cells with which every line begins."""
        end = f"{self.year}-12-31"
        name = self.company.name.upper()
        return self.company.register_number, end, str(self.number), name, _code(self.company)


def companies_of(world: WorldWriter) -> Iterator[SampleOrganisation]:
    """Iterate over the companies that file with CVM."""
    return map(brazilian, range(_PER_SCALE * world.scale))


def brazilian(serial: int) -> SampleOrganisation:
    """Return the company of a serial number that files with CVM."""
    block, first = divmod(serial, len(_NAMES))
    words = (_NAMES[first], "Fictional", _TRADES[serial % len(_TRADES)], str(block + 1))
    name = " ".join(words if block else words[:-1]) + f" {BRAZIL.public_form}"
    root = f"{_FIRST_ROOT + serial:08d}0001"
    number = cnpj.format(root + cnpj.calc_check_digits(root))
    return SampleOrganisation("issuer", serial, name, BRAZIL, number, lei("issuer", BRAZIL, serial))


def write_brazil(world: WorldWriter) -> None:
    """Write the zip of each year as it was on each day on which it was read, and the register."""
    years = range(_FIRST_YEAR, _last_year(world) + 1)
    for year in years:
        _write_zip(world, f"{year + 1}-{_READ}", year)
    _write_zip(world, _READ_AGAIN, _FIRST_YEAR)
    _write_zip(world, world.ago(_READ_LAST), years[-1])
    _write_register(world)
    _note(world, years[-1])


def _last_year(world: WorldWriter) -> int:
    """Return the last year whose documents had been read before one of them was filed again."""
    filed_again = world.ago(_FILED_LAST)
    return int(filed_again[:4]) - (1 if filed_again[5:] > _READ else 2)


def _path(year: int) -> str:
    return f"dados/CIA_ABERTA/DOC/DFP/DADOS/dfp_cia_aberta_{year}.zip"


def _code(company: SampleOrganisation) -> str:
    return f"{_FIRST_CODE + company.serial:06d}"


def _versions(world: WorldWriter, company: SampleOrganisation, year: int) -> list[_Version]:
    """Return every version of a document that there will be."""
    versions = [_Version(company, year, 1, f"{year + 1}-{_FILED}")]
    role = company.serial % _PER_SCALE
    if role == _RESTATED and year == _FIRST_YEAR:
        versions.append(_Version(company, year, 2, _FILED_AGAIN))
    if role == _RESTATED_LAST and year == _last_year(world):
        versions.append(_Version(company, year, 2, world.ago(_FILED_LAST)))
    return versions


def _write_zip(world: WorldWriter, day: str, year: int) -> None:
    received = [
        [version for version in _versions(world, company, year) if version.received < day]
        for company in companies_of(world)
    ]
    index = [_index_line(version) for versions in received for version in versions]
    files = {f"dfp_cia_aberta_{year}": [_INDEX, *index]}
    for name in _FILES:
        # Of a document only the latest version is in the files of statements.
        lines = [line for versions in received for line in _lines(world, name, versions[-1])]
        span = "" if name in _BALANCES else "DT_INI_EXERC;"
        files[f"dfp_cia_aberta_{name}_con_{year}"] = [f"{_STATED};{span}{_AMOUNT}", *lines]
    records = sum(len(lines) - 1 for lines in files.values())
    world.write(CVM, day, _path(year), _zipped(files), records)


def _zipped(files: dict[str, list[str]]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, lines in files.items():
            # Not compressed, and of no time: the bytes are the same on every machine.
            archive.writestr(zipfile.ZipInfo(f"{name}.csv"), _text(lines))
    return body.getvalue()


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode("iso-8859-1")


def _index_line(version: _Version) -> str:
    number = 10 * (version.year * 1000 + version.company.serial) + version.number
    link = f"https://fictional.example/cvm?NumeroSequencialDocumento={number}"
    return ";".join((*version.company_cells, "DFP", str(number), version.received, link))


def _lines(world: WorldWriter, name: str, version: _Version) -> Iterator[str]:
    statement_name, accounts = _FILES[name]
    group = f"DF Consolidado - {statement_name}"
    columns = (("PENÚLTIMO", version.year - 1), ("ÚLTIMO", version.year))
    figures = {year: _figures(world, version, year) for _, year in columns}
    for code, description, line in accounts:
        for order, year in columns:
            span = () if name in _BALANCES else (f"{year}-01-01",)
            value = figures[year][line.removeprefix("-")] * (-1 if line.startswith("-") else 1)
            yield ";".join(
                (
                    *(*version.company_cells, group, "REAL", "MIL", order, *span, f"{year}-12-31"),
                    *(code, description, f"{value / 1000:.10f}", "S"),
                )
            )


def _figures(world: WorldWriter, version: _Version, year: int) -> Figures:
    """Return the figures of a year as a version states them: as its latest version before does."""
    serial = version.company.serial
    rng = world.random(CVM, serial)
    revenue = rng.randrange(2_000, 18_000) * 1_000_000
    for _ in range(_FIRST_YEAR - 1, year):
        revenue = revenue * rng.randrange(97, 114) // 100 // 1000 * 1000
    figures = statement(world.random(CVM, serial, year), revenue, shares=100_000_000)
    filed_again = any(
        other.number > 1 and other.received <= version.received
        for other in _versions(world, version.company, year)
    )
    figures = restated(figures, percent=-3) if filed_again else figures
    return figures | _remainders(figures)


def _remainders(figures: Figures) -> dict[str, Decimal]:
    def rest(whole: str, part: str) -> Decimal:
        return figures[whole] - figures[part]

    return {
        "non_current_assets": rest("total_assets", "current_assets"),
        "non_current_liabilities": rest("total_liabilities", "current_liabilities"),
        "equity_minority": rest("total_equity", "equity_attributable"),
        "profit_minority": rest("profit", "profit_attributable"),
    }


def _write_register(world: WorldWriter) -> None:
    day, path = world.ago(_REGISTER_READ), "dados/CIA_ABERTA/CAD/DADOS/cad_cia_aberta.csv"
    columns = _REGISTER_COLUMNS.split(";")
    lines = [_REGISTER_COLUMNS]
    for number, company in enumerate(companies_of(world), 2):
        cells = _register_cells(company)
        lines.append(";".join(cells.get(column, "") for column in columns))
        world.traps.note("officer_in_register", REGISTER, day, path, line=number, column="RESP")
    world.write(REGISTER, day, path, _text(lines), len(lines) - 1)


def _register_cells(company: SampleOrganisation) -> dict[str, str]:
    officer = person_name(_FIRST_OFFICER + company.serial)
    street, phone = f"Rua Fictional {company.serial + 1}", f"555{company.serial % 10_000:04d}"
    address = {"LOGRADOURO": street, "MUN": BRAZIL.city.upper(), "UF": "SP", "CEP": "00000000"}
    contact = {"DDD_TEL": "11", "TEL": phone}
    email = officer.lower().replace(" ", ".") + "@fictional.example"
    return {
        "CNPJ_CIA": company.register_number,
        "DENOM_SOCIAL": company.name.upper(),
        "DT_REG": "2005-03-01",
        "SIT": "ATIVO",
        # Without the zeros that fill it up in documents.
        "CD_CVM": str(int(_code(company))),
        "TP_MERC": "BOLSA",
        "CATEG_REG": "Categoria A",
        **address,
        **contact,
        "PAIS": "BRASIL",
        "EMAIL": "ri@fictional.example",
        "TP_RESP": "DIRETOR DE RELAÇÕES COM INVESTIDORES",
        "RESP": officer,
        "DT_INI_RESP": "2021-05-03",
        **{f"{name}_RESP": cell for name, cell in (address | contact).items()},
        "EMAIL_RESP": email,
        "AUDITOR": "AUDITORES FICTIONAL LTDA.",
    }


def _note(world: WorldWriter, last_year: int) -> None:
    readings = (
        (_RESTATED, _FIRST_YEAR, f"{_FIRST_YEAR + 1}-{_READ}", _READ_AGAIN),
        (_RESTATED_LAST, last_year, f"{last_year + 1}-{_READ}", world.ago(_READ_LAST)),
    )
    for role, year, before, day in readings:
        where = {"before": before, "cnpj": brazilian(role).register_number, "year": year}
        world.traps.note("version_dropped", CVM, day, _path(year), **where)
