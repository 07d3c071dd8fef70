import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quality import personal_data_audit
from quality.contacts import may_have_contact, remove_contacts, texts_with_contact
from tests.helpers.audited import staged
from tests.helpers.record_rows import load, release_row
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES

# What must not be left of each text: the address, the number or the name in it.
CONTACTS = [
    ("Write to jane.doe@example.co.za today", "jane|example"),
    ("Write to jane.doe @ example.co.za today", "jane|example"),
    ("Write to jane.doe ＠ example.co.za today", "jane|example"),
    ("Write to jane.doe＠example.co.za today", "jane|example"),
    ("Write to jane.doe﹫example.co.za today", "jane|example"),
    ("Write to ja\u200bne.doe\u200b@\u200bexample.co.za today", "doe|example"),
    ("Write to jane.doe (at) example.co.za today", "jane|example"),
    ("Write to jane.doe(at)example(dot)co(dot)za today", "jane|example"),
    ("Write to jane.doe [at] example [dot] co [dot] za today", "jane|example"),
    ("Write to jane.doe {at} example.com today", "jane|example"),
    ("Write to jane.doe at example dot co dot za today", "jane|example"),
    ("Write to jane doe AT example DOT com", "doe|example"),
    ("Escribir a jane.doe arroba example punto com", "jane|example"),
    ("Escrever para jane.doe (arroba) example.com.br", "jane|example"),
    ("Ecrire à jane.doe arobase example point com", "jane|example"),
    ("Email: jane_doe@example", "jane"),
    ("mailto:jane@example.org?subject=bid", "jane|example"),
    ("Call +27 11 123 4567 now", "4567"),
    ("Call +27(0)11 123 4567 now", "4567"),
    ("Call 0027 11 123 4567 now", "4567"),
    ("Call +234 803 123 4567", "4567"),
    ("Call +234-803-123-4567", "4567"),
    ("Call 08031234567", "4567"),
    ("Call 0803 123 4567", "4567"),
    ("Call 0803-123-4567", "4567"),
    ("Call +254 712 345 678", "678"),
    ("Call 0712 345 678", "678"),
    ("Call 0712345678", "678"),
    ("Call +233 24 123 4567", "4567"),
    ("Call 024 123 4567", "4567"),
    ("Call (012) 345-6789", "6789"),
    ("Call 012 345 6789", "6789"),
    ("Call 012-345-6789", "6789"),
    ("Call 012.345.6789", "6789"),
    ("Call +251 91 123 4567", "4567"),
    ("Call +20 100 123 4567", "4567"),
    ("Appeler +221 77 123 45 67", "45 67"),
    ("Appeler +225 07 12 34 56 78", "56 78"),
    ("Appeler le 77 123 45 67 (Dakar)", "45 67"),
    ("Appeler 01 23 45 67 89", "67 89"),
    ("Appeler 01.23.45.67.89", "67.89"),
    ("Tél. : 33 821 12 34", "12 34"),
    ("Tel: 2721 123 4567", "4567"),
    ("Tel. nº 21 123 4567", "4567"),
    ("Telefone: (21) 91234-5678", "5678"),
    ("Ligar (11) 91234-5678", "5678"),
    ("Ligar +55 11 91234-5678", "5678"),
    ("Llamar +57 310 123 4567", "4567"),
    ("Llamar +52 55 1234 5678", "5678"),
    ("Llamar +52 1 55 1234 5678", "5678"),
    ("Cel. 310 123 4567", "4567"),
    ("Celular 3101234567", "4567"),
    ("PBX (1) 234 5678", "5678"),
    ("Teléfono fijo: 6012345678", "5678"),
    ("Ligar 923 456 789 (Luanda)", "456 789"),
    ("WhatsApp 082 123 4567", "4567"),
    ("Whatsapp: +27821234567", "4567"),
    ("WhatsApp no. 0821234567", "4567"),
    ("https://wa.me/27821234567", "4567"),
    ("Cell 082\u00a0123\u00a04567", "4567"),
    ("Cell ０８２ １２３ ４５６７", "４５６７"),
    ("Cell +٢٠ ١٠٠ ١٢٣ ٤٥٦٧", "٤٥٦٧"),
    ("Road works. Enquiries: Ms Jane Doe 012 345 6789", "Jane|6789"),
    ("Road works. Enquiries: Jane Doe 012 345 6789", "Jane|6789"),
    ("Enquiries to Jane Doe", "Jane"),
    ("Enquiries may be directed to Jane Doe", "Jane"),
    ("Enquiries – Jane Doe", "Jane"),
    ("ENQUIRIES JANE DOE 012 345 6789", "JANE|6789"),
    ("Technical enquiries: J. Doe", "Doe"),
    ("Contact person: Mr. T. Fictional, Tel 071-338-5102. Bids close.", "Fictional|5102"),
    ("CONTACT PERSON : JANE DOE", "JANE"),
    ("Contact Jane Doe at the office", "Jane"),
    ("Contact: Jane Doe", "Jane"),
    ("Attention: Ms Jane Doe", "Jane"),
    ("ATT: Jane Doe", "Jane"),
    ("Att. Jane Doe", "Jane"),
    ("For attention Jane Doe", "Jane"),
    ("For the attention of Jane Doe", "Jane"),
    ("Prepared by: Jane Doe", "Jane"),
    ("Compiled by: Jane Doe", "Jane"),
    ("Project manager: Jane Doe", "Jane"),
    ("End user: Jane Doe", "Jane"),
    ("Buyer: Ms. J Doe", "Doe"),
    ("Awarded to Dr Jane Doe", "Jane"),
    ("Awarded to Prof. Jane Doe", "Jane"),
    ("Awarded to Adv J Doe", "Doe"),
    ("Awarded to Engr. Jane Doe", "Jane"),
    ("Séance avec Mme Jeanne Dupont", "Dupont"),
    ("Séance avec Monsieur Jean Dupont", "Dupont"),
    ("Reunión con Sra. Ana Ruiz", "Ruiz"),
    ("Reunión con el Sr. Juan Ruiz", "Ruiz"),
    ("Reunión con Señora Ana Ruiz", "Ruiz"),
    ("Reunião com a Dra. Ana Silva", "Silva"),
    ("Reunião com o Senhor João Silva", "Silva"),
    ("Personne à contacter : Jeanne Dupont", "Dupont"),
    ("À l'attention de Mme Jeanne Dupont", "Dupont"),
    ("A l'attention de Jeanne Dupont", "Dupont"),
    ("Renseignements : Jeanne Dupont", "Dupont"),
    ("Interlocuteur : Jeanne Dupont", "Dupont"),
    ("Persona de contacto: Ana Ruiz", "Ruiz"),
    ("Contacto: Ana Ficticia 3101234567", "Ana|4567"),
    ("Responsable: Ana Ruiz", "Ruiz"),
    ("Supervisor: Ana Ruiz", "Ruiz"),
    ("Atención: Ana Ruiz", "Ruiz"),
    ("Atenção: Ana Silva", "Silva"),
    ("A/C: Ana Silva", "Silva"),
    ("Pessoa de contacto: Ana Silva", "Silva"),
    ("Pessoa de contato: Ana Silva", "Silva"),
    ("Responsável: Ana Silva", "Silva"),
    ("Esclarecimentos: Ana Silva", "Silva"),
    ("للاتصال: أحمد محمد ٠١٠٠١٢٣٤٥٦٧", "محمد|٤٥٦٧"),
    ("الشخص المسؤول: أحمد محمد", "محمد"),
]


@pytest.mark.parametrize(("text", "contact"), CONTACTS)
def test_no_contact_is_left_in_free_text(text: str, contact: str) -> None:
    assert re.search(contact, remove_contacts(f"Road works in Nowhere. {text}")) is None


def test_a_text_that_is_cut_was_suspect() -> None:
    texts = [text for text, _ in CONTACTS]

    assert [text for text in texts if not may_have_contact(text)] == []
    assert texts_with_contact(texts) == list(range(len(texts)))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Road works. Enquiries: Ms Jane Doe 012 345 6789", "Road works."),
        ("Contact person: Mr. T. Fictional, Tel 071-338-5102. Bids close.", "Bids close."),
        ("Call +27 11 123 4567 now", "Call now"),
        ("Write to a.b@example.co.za today", "Write to today"),
        ("Contacto: Ana Ficticia 3101234567", ""),
        ("Attention: Dr. J. Fictional", ""),
        ("Obras en Nada 3101234567 hasta mayo", "Obras en Nada hasta mayo"),
        ("Obras en Nada, 310 123 4567", "Obras en Nada,"),
        ("Obras: tel 1234567", "Obras:"),
        ("Water " * 200 + "Enquiries: Ms Jane Doe", ("Water " * 200).strip()),
        ("Fax: 123 4567", ""),
    ],
)
def test_only_the_contact_is_cut(text: str, cleaned: str) -> None:
    assert remove_contacts(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "43G/2026/27",
        "DEV 05/2026/27 - SUPPLY FROM 2026 TO 30 JUNE 2029",
        "SCMU8 - 25/26 - 0082 at R 1 234 567,00 or 13,933,953,708.62",
        "2026-08-14 to 2026-12-31, RFQ 0123456789, cod: 900503719",
        "Supply of contactors and contact lenses, 100 000 000 units",
        "Valor 3150000000, $3101234567, contrato no. 3101234567, 2021-3101234567",
        "Lot 1: 12 000 000 litres; Lot 2: 77 500 000 litres",
        "Montant 77 123 456 FCFA, 12 345 678 FCFA HT",
        "N 123 456 789.50 and KES 1,234,567.00 and ZAR1 234 567.89",
        "Closing 14/08/2026 11:00, opening 2026-08-14T11:00:00+02:00",
        "ISO 9001:2015, SANS 10142-1:2020, IP65, 230/400 V, 11 kV",
        "Attention to detail is needed; for the attention of users of the road",
        "Data at rest and in motion, at 3 dot matrix printers",
        "Responsible sourcing of water; responsable del agua",
        "Atención integral a la primera infancia en 12 municipios",
        "Prestar los servicios de apoyo a la supervisor vial",
        "Contact centre services and contact us signage",
        "St. Nowhere Street upgrading, Dr Nowhere Nobody District Municipality",
        "Chief Directorate: Roads",
        "End user: Department of Roads; project manager: to be named",
        "Compiled by category and prepared by lot",
        "Ref. 0012345678901234, Bid 0801234567/2026",
        "Coordinates -25.7461 28.1881, ERF 1234 portion 5",
        "RFP/2026/0123/4567-89, GT/GDE/001/2026",
        "UNSPSC 72141000; CPV 45233120-6; NIT 900.123.456-7",
        "Msunduzi, Mrs-free: MS Office 365 and MR scanner",
        "Sr. no. 12 of 34",
    ],
)
def test_references_dates_and_amounts_stay(text: str) -> None:
    assert remove_contacts(text) == text


HARMLESS = (
    "supply delivery of roads water pumps lot phase for the in and Nowhere Municipality tender"
    " réhabilitation obras construção 12 R1,234,567.89 2026-08-14 14/08/2026 RFQ/2026/0123 43G/2026"
    " Lot-3 ZAR 30% (Phase 2) km2 11kV no. ref: SCM-0082 USD 1.5m"
)
WORDS = st.sampled_from(HARMLESS.split())


@given(st.lists(WORDS, max_size=30).map(" ".join))
@example("lot 12 12 12 12 12")
def test_a_text_without_contacts_comes_back_unchanged(text: str) -> None:
    assert remove_contacts(text) == text


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert remove_contacts(remove_contacts(text)) == remove_contacts(text)


@given(st.text(max_size=20), st.emails(), st.text(max_size=20))
def test_no_email_survives(before: str, email: str, after: str) -> None:
    assert email not in remove_contacts(f"{before} {email} {after}")


@given(st.text())
def test_a_text_that_is_not_suspect_is_not_changed(text: str) -> None:
    assert may_have_contact(text) or remove_contacts(text) == text


PLAIN = ("supply", "of", "the", "pipeline,", "classrooms.", "Road", "works", "phase", "2026", "lot")


@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=120), st.sampled_from(CONTACTS))
def test_a_contact_far_into_a_text_is_cut_and_what_stands_before_it_stays(
    words: list[str], contact: tuple[str, str]
) -> None:
    before, (text, gone) = " ".join(words), contact
    cleaned = remove_contacts(f"{before}\n{text}")

    assert not re.search(gone, cleaned.removeprefix(before))
    assert cleaned.startswith(before.rstrip(" .,"))


# The audit searches the columns that are declared as free text


def releases_with_contact(record: Record, stage: Path) -> list[str]:
    with staged(record, stage) as snapshot:
        personal_data_audit.find_contacts(snapshot)
        rows = snapshot.read(
            "SELECT ocid FROM tender_releases SEMI JOIN releases_with_contact USING (row_id)"
        )
    return list(rows["ocid"].to_pylist())


@pytest.mark.slow
def test_a_contact_in_a_column_of_free_text_is_found(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(
        record,
        TENDER_RELEASES,
        release_row(1, category="works"),
        release_row(2, category="works, ask thandi@example.org"),
        release_row(3, category="works, ask thandi@example.org", release=None),
    )
    # What no declaration calls free text holds codes, and is not searched.
    assert releases_with_contact(record, tmp_path / "codes") == []
    monkeypatch.setattr(personal_data_audit, "_FREE_TEXTS", ("category",))
    assert releases_with_contact(record, tmp_path / "texts") == ["ocds-0002", "ocds-0003"]


# Many texts at once


SUSPECT = st.sampled_from(
    (
        *("contact", "Contato", "CONTACT", "liaison", "attention", "attn", "consultas"),
        *("responsable", "enquiries", "Queries", "(at)", "[AT]", "a@b.example", "mr", "Mrs."),
        *("MS", "miss", "ms_", "mſ", "012", "345", "6789", "+27(0)11", "0722-123-456"),
        *("٣٤٥٦٧٨٩", "road", "works", "2026", "1/2/3", "ATTN:", "\x1c", "\x1f", "\x0b"),
        *("(", ")", ".", "-", "/", "Buyer:", "Dr", "Señor", "tel", "arroba", "dot"),
    )
)
SUSPECT_TEXT = st.lists(SUSPECT | st.text(st.characters(codec="utf-8"), max_size=4)).map("".join)
SUSPECT_TEXTS = st.lists(SUSPECT_TEXT | st.lists(SUSPECT).map(" ".join))


@given(SUSPECT_TEXTS)
def test_many_texts_are_suspect_exactly_where_each_of_them_is(texts: list[str]) -> None:
    assert texts_with_contact(texts) == [
        at for at, text in enumerate(texts) if may_have_contact(text)
    ]
