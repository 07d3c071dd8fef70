"""Statements filed with Brazil's CVM: versions, scales, charts of accounts, what was left empty."""

import io
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.entities.identifiers import mint
from assets.filings import cvm
from assets.parsing.parsed import Parsed, to_table
from tests.helpers.parsed_rows import has_columns
from tests.helpers.registers import identifier, joins
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, IDENTIFIERS

COLUMNS = (
    "CNPJ_CIA;DT_REFER;VERSAO;DENOM_CIA;CD_CVM;GRUPO_DFP;MOEDA;ESCALA_MOEDA;ORDEM_EXERC;"
    "DT_INI_EXERC;DT_FIM_EXERC;CD_CONTA;DS_CONTA;VL_CONTA;ST_CONTA_FIXA"
)
INDEX = "CNPJ_CIA;DT_REFER;VERSAO;DENOM_CIA;CD_CVM;CATEG_DOC;ID_DOC;DT_RECEB;LINK_DOC"
CNPJ = "11.222.333/0001-81"
INCOME = "DF Consolidado - Demonstração do Resultado"
URL = "https://dados.cvm.gov.br/dados/CIA_ABERTA/DOC/DFP/DADOS/dfp_cia_aberta_2022.zip"
REVENUE = ("3.01", "Receita de Venda de Bens e/ou Serviços")
COSTS = ("3.02", "Custo dos Bens e/ou Serviços Vendidos")
PROFIT = ("3.11", "Lucro/Prejuízo Consolidado do Período")
OWNERS = ("3.11.01", "Atribuído a Sócios da Empresa Controladora")
MINORITIES = ("3.11.02", "Atribuído a Sócios Não Controladores")
CHANGES = (
    *({"cnpj": "11.222.333/0001-82"}, {"version": "x"}, {"code": "000000"}, {"currency": "DOLAR"}),
    *({"scale": "MILHAO"}, {"order": "ANTEPENÚLTIMO"}, {"group": "DF - Resultado"}),
    *({"amount": "1.000.000"}, {"amount": ""}, {"end": "2022-13-31"}, {"start": "2023-01-01"}),
)


def line(account: tuple[str, str], value: str, **others: str) -> str:
    cells = {
        "cnpj": CNPJ,
        "reference": "2022-12-31",
        "version": "1",
        "name": "FICTÍCIA ENERGIA S.A.",
        "code": "012345",
        "group": INCOME,
        "currency": "REAL",
        "scale": "MIL",
        "order": "ÚLTIMO",
        "start": "2022-01-01",
        "end": "2022-12-31",
    } | others
    return ";".join([*cells.values(), *account, value, "S"])


def csv(*lines: str, header: str = COLUMNS) -> bytes:
    return "\r\n".join([header, *lines, ""]).encode("latin-1")


def zipped(**files: bytes) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.csv", content)
    return body.getvalue()


def read(body: bytes, day: date = date(2023, 5, 1)) -> Parsed:
    moment = datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
    document = Document(
        f"{hash(body):064x}"[-64:], "cvm", URL, "open-share-alike", moment, 200, {}, 1
    )
    return cvm.parse(document, body)


def figures(parsed: Parsed) -> dict[str, Any]:
    rows = parsed.rows.get("fundamentals", [])
    assert all(has_columns(row, FUNDAMENTALS) for row in rows)
    return {row["line_item"]: row["value_reported"] for row in rows}


def reasons(parsed: Parsed) -> list[str]:
    return [each.reason for rejected in parsed.rejected.values() for each in rejected]


def test_figures_are_in_units_of_their_currency_and_costs_are_positive() -> None:
    parsed = read(csv(line(REVENUE, "1500.5000000000"), line(COSTS, "-900.0000000000")))
    assert figures(parsed) == {"revenue": Decimal("1500500"), "cost_of_sales": Decimal("900000")}
    (revenue, _) = parsed.rows["fundamentals"]
    assert (revenue["unit"], revenue["basis"]) == ("BRL", "consolidated/ifrs")
    assert revenue["element"] == "cvm:3.01 Receita de Venda de Bens e/ou Serviços"
    assert (revenue["period_type"], revenue["fiscal_label"]) == ("FY", "FY2022")
    assert revenue["source_ref"] == f"{URL}#line 2"


@given(
    st.decimals(
        places=2, allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12
    )
)
def test_every_digit_of_an_amount_is_kept_and_none_is_added(amount: Decimal) -> None:
    other = line(PROFIT, "1")
    read_amounts = [
        figures(read(csv(line(REVENUE, text, scale="UNIDADE"), other)))["revenue"]
        for text in (f"{amount}", f"{amount}00000000", f"{amount}".replace(".", ","))
    ]
    assert {str(value) for value in read_amounts} == {str(read_amounts[0])}
    assert read_amounts[0] == amount and "E" not in str(read_amounts[0])


def test_a_document_is_dated_by_the_day_it_was_read_and_its_versions_are_vintages() -> None:
    parsed = read(csv(line(REVENUE, "1", version="4")), date(2024, 1, 26))
    (row,) = parsed.rows["fundamentals"]
    assert (row["available_at"], row["publication"]) == (
        date(2024, 1, 26),
        "12345/2022-12-31/0004",
    )


def test_a_figure_names_its_document_where_the_index_lists_it() -> None:
    figure, link = csv(line(REVENUE, "1")), "http://www.rad.cvm.gov.br/?NumeroSequencial=9"
    listed = f"{CNPJ};2022-12-31;{{}};FICTÍCIA S.A.;012345;DFP;9;2023-02-13;{link}"
    index = csv(listed.format(1), header=INDEX)
    named = ("9", "DFP", link)
    # In whichever order the files are in the zip.
    for body, expected in (
        (zipped(dfp=index, dre=figure), named),
        (zipped(dre=figure, index=index), named),
        (zipped(dfp=csv(listed.format(2), header=INDEX), dre=figure), (None, None, None)),
        (figure, (None, None, None)),
    ):
        (row,) = read(body).rows["fundamentals"]
        assert (row["document_id"], row["form"], row["document_url"]) == expected


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_downloads_give_the_same_vintages_in_whichever_order_they_are_loaded(
    record: Record, order: tuple[int, ...]
) -> None:
    downloads = [
        (date(2024, 1, 26), "4", "-11016"),
        (date(2024, 3, 1), "4", "-11016"),
        (date(2024, 6, 16), "5", "-8031"),
    ]
    for number in order:
        day, version, value = downloads[number]
        rows, rejected = to_table(
            FUNDAMENTALS, [read(csv(line(PROFIT, value, version=version)), day)]
        )
        append(record, FUNDAMENTALS, rows, Load("cvm", (str(number),)), rejected=rejected)
    stored = record.relation("fundamentals", record.table("fundamentals"))
    vintages = record.query(vintages_query(FUNDAMENTALS, stored, vintages="all")).to_pylist()
    shown = [(row["available_at"], row["value_reported"]) for row in vintages]
    assert sorted(shown) == [
        (date(2024, 1, 26), Decimal(-11016000)),
        (date(2024, 6, 16), Decimal(-8031000)),
    ]


def test_a_group_counts_before_its_parent_alone_which_counts_where_there_is_no_group() -> None:
    alone = {"group": "DF Individual - Demonstração do Resultado"}
    other = {"cnpj": "45.997.418/0001-53", "code": "000099"}
    parsed = read(
        zipped(
            dfp_cia_aberta_DRE_con_2022=csv(line(REVENUE, "10")),
            dfp_cia_aberta_DRE_ind_2022=csv(
                line(REVENUE, "7", **alone), line(REVENUE, "5", **alone, **other)
            ),
        )
    )
    stated = {(row["basis"], row["value_reported"]) for row in parsed.rows["fundamentals"]}
    assert stated == {("consolidated/ifrs", 10000), ("individual/br-gaap", 5000)}


def test_one_code_means_what_the_chart_of_its_company_says() -> None:
    bank = csv(
        line(("3.01", "Receitas da Intermediação Financeira"), "9"),
        line(("3.05", "Resultado antes dos Tributos sobre o Lucro"), "4"),
        line(("3.06", "Imposto de Renda e Contribuição Social sobre o Lucro"), "-1"),
        line(("3.09", "Lucro ou Prejuízo Líquido Consolidado do Período"), "3"),
    )
    assert figures(read(bank)) == {
        "profit_before_tax": 4000,
        "income_tax_expense": 1000,
        "profit": 3000,
    }


def test_borrowings_are_those_of_both_liabilities_where_both_are_stated() -> None:
    current = line(("2.01.04", "Empréstimos e Financiamentos"), "5")
    non_current = line(("2.02.01", "Empréstimos e Financiamentos"), "30")
    assert figures(read(csv(current, non_current))) == {
        "borrowings_current": 5000,
        "borrowings_non_current": 30000,
        "total_borrowings": 35000,
    }
    assert figures(read(csv(current))) == {"borrowings_current": 5000}


def test_what_a_company_left_empty_is_absent_and_a_true_zero_is_zero() -> None:
    parsed = read(csv(line(PROFIT, "5"), line(OWNERS, "0"), line(MINORITIES, "0")))
    assert figures(parsed) == {"profit": 5000}
    assert len(reasons(parsed)) == 2
    parsed = read(csv(line(PROFIT, "5"), line(OWNERS, "5"), line(MINORITIES, "0")))
    assert figures(parsed) == {"profit": 5000, "profit_attributable": 5000, "profit_minority": 0}
    parsed = read(csv(line(REVENUE, "0"), line(COSTS, "0.0000000000")))
    assert figures(parsed) == {} and "not filled in" in reasons(parsed)[0]


def test_a_quarter_and_the_year_to_date_are_periods_of_their_own() -> None:
    quarter = {"reference": "2022-06-30", "end": "2022-06-30"}
    parsed = read(
        csv(
            line(REVENUE, "30", **quarter),
            line(REVENUE, "18", **quarter, start="2022-04-01"),
            line(REVENUE, "25", **quarter | {"start": "2021-01-01", "end": "2021-06-30"}),
        )
    )
    periods = {
        (row["period_type"], row["fiscal_label"]): row["value_reported"]
        for row in parsed.rows["fundamentals"]
    }
    assert periods == {
        ("H1", "H1 FY2022"): 30000,
        ("Q2", "Q2 FY2022"): 18000,
        ("H1", "H1 FY2021"): 25000,
    }


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_line_that_cannot_be_read_is_rejected_by_name_and_the_others_are_read(
    change: dict[str, str],
) -> None:
    others = {name: text for name, text in change.items() if name != "amount"}
    parsed = read(csv(line(REVENUE, change.get("amount", "1"), **others), line(PROFIT, "2")))
    assert figures(parsed) == {"profit": 2000}
    (rejected,) = parsed.rejected["fundamentals"]
    assert rejected.source_ref.endswith("#line 2") and rejected.reason


def test_an_account_stated_twice_with_two_values_is_absent() -> None:
    parsed = read(csv(line(REVENUE, "1"), line(REVENUE, "2"), line(PROFIT, "1"), line(PROFIT, "1")))
    assert figures(parsed) == {"profit": 1000}
    assert len(reasons(parsed)) == 2


def test_the_index_names_companies_by_both_their_numbers_and_header_only_files_say_nothing() -> (
    None
):
    line_of_index = (
        f"{CNPJ};2022-12-31;1;FICTÍCIA E PARTICIPAÇÕES S.A.;012345;DFP;9;2023-02-13;http://x"
    )
    parsed = read(csv(line_of_index, header=INDEX))
    (entity,) = parsed.rows["entities"]
    assert has_columns(entity, ENTITIES)
    assert (entity["legal_name"], entity["country"]) == ("FICTÍCIA E PARTICIPAÇÕES S.A.", "BR")
    assert entity["service_id"] == mint("registry", f"BR-CNPJ:{CNPJ}")
    numbers = {(row["issuer"], row["id_value"]) for row in parsed.rows["identifiers"]}
    assert numbers == {("BR-CNPJ", CNPJ), ("BR-CVM", "12345")}
    assert all(has_columns(row, IDENTIFIERS) for row in parsed.rows["identifiers"])
    empty = read(csv(header=INDEX))
    assert not empty.rows and not empty.rejected


def test_a_copy_in_utf8_and_a_zip_say_what_the_files_say() -> None:
    lines = csv(line(REVENUE, "1"), line(PROFIT, "2"))
    copy = lines.decode("latin-1").encode("utf-8-sig")
    assert figures(read(lines)) == figures(read(copy)) == figures(read(zipped(a=lines)))


def test_a_remark_with_a_name_is_withheld_and_another_file_is_refused() -> None:
    named = line(REVENUE, "1", name="FICTÍCIA S.A. (ADMINISTRADOR JUDICIAL DR. JOSE DA SILVA)")
    parsed = read(csv(named))
    assert "entities" not in parsed.rows and figures(parsed) == {"revenue": 1000}
    assert "no columns" in reasons(read(b"a;b\r\n1;2\r\n"))[0]


def test_the_number_of_a_company_is_told_by_its_form_whichever_authority_states_it() -> None:
    def joined(number: str) -> int:
        return len(
            joins(
                [
                    identifier("A", "registry", number, "RA000059"),
                    identifier("B", "registry", number, "BR-CNPJ"),
                ]
            )
        )

    assert joined(CNPJ) == 1
    # A number of the board of trade itself.
    assert joined("35300123456") == 0
