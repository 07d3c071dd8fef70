"""A name is found however it is written, and other words are left alone."""

import string
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warehouse.names.redaction import Redaction
from warehouse.names.spellings import NameFinder, distinctive_words, names_in

SECRET = b"a key of the tests"
NAME = "Zukiswa Wambui Quillfeather Ltd"
SPELLINGS = (
    "ZUKISWA WAMBUI QUILLFEATHER LIMITED",
    "Zukiswa Wambui Quillfeather",
    "Zukiswa Wambui Quillfeather (Pty) Ltd",
    "Zukiswa Wambui Quillfeather Company Ltd",
    "Zukiswa Wambui Quillfeather & Co",
    "Zukiswa Wambui Quillfeathers",
    "Zukiswa W. Quillfeather",
    "Z.W. Quillfeather",
    "Z. Quillfeather",
    "Quillfeather Z W",
    "Quillfeather, Zukiswa Wambui",
    "Mrs Zukiswa Quillfeather",
    "Dr. Wambui Quillfeather",
    "Zúkiswa  Wambui\tQuillfeather",
    "ＺＵＫＩＳＷＡ Quillfeather",
    "zukiswa.quillfeather@example.org",
    "zquillfeather@example.org",
    "quillfeather_zukiswa_wambui",
    "284182-zukiswa-wambui-quillfeather-1-3",
    "284182ZukiswaWambuiQuillfeather1",
    "https://example.org/zukiswa%20wambui%20quillfeather.json",
    "www.zukiswaquillfeather.example",
)
OTHERS = (
    "Quillfeather Holdings Ltd",
    "Quillfeather Road",
    "Zukiswa Hospital",
    "Zukiswa walks to the Quillfeather estate",
    "Wambui Farm",
)


def redaction(*names: str) -> Redaction:
    return Redaction(frozenset(map(distinctive_words, names)), frozenset(), SECRET)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_name_is_found_in_every_spelling(spelling: str) -> None:
    finder = NameFinder([distinctive_words(NAME)])
    assert finder.has(spelling)
    assert finder.has(f"Supply of desks: {spelling}, Nowhere")


@pytest.mark.parametrize("text", OTHERS)
def test_those_who_share_one_word_of_a_name_are_others(text: str) -> None:
    assert not NameFinder([distinctive_words(NAME)]).has(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Construcciones del Sur", "construcciones en la zona sur"),
        ("Construcciones del Sur", "Obras y construcciones"),
        ("Instituto Nacional de Datos Personales", "protección de datos personales"),
        ("Maria Fernanda Silva", "Escuela Maria Fernanda"),
        ("Mpho", "Mpho Street"),
    ],
)
def test_words_of_the_language_are_no_name(name: str, text: str) -> None:
    assert redaction(name).text(text) == text


def test_what_is_removed_is_the_name_and_not_the_sentence() -> None:
    person = redaction("Juan Pérez Gómez")
    assert person.text("Pago a PEREZ GOMEZ JUAN por obras") == "Pago a [withheld] por obras"
    assert person.text("Pago al Sr. Juan Pérez, obras") == "Pago al [withheld], obras"


def test_an_id_keeps_what_is_no_name_and_equal_ids_stay_equal() -> None:
    person = redaction("Juan Pérez Gómez")
    ids = ("284182-juan-perez-gomez-1", "284182-juan-perez-gomez-1", "284182-juan-perez-gomez-2")
    one, same, two = map(person.identifier, ids)
    assert one == same != two
    assert one.startswith("284182-~")
    assert one.endswith("-1")
    assert "perez" not in one
    assert person.identifier("284182-roads-1") == "284182-roads-1"


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://e.org/a/juan-perez.json#/releases/0", "https://e.org/a/"),
        ("https://e.org/juan%20perez/b.json", "https://e.org/"),
        ("https://e.org/a?name=Juan+P%C3%A9rez", "https://e.org/a"),
        ("https://e.org/a.zip#juan-perez.json#line 1", "https://e.org/a.zip"),
        ("https://e.org/a/b.json#/releases/0", "https://e.org/a/b.json#/releases/0"),
    ],
)
def test_an_address_ends_at_the_folder_before_the_name(address: str, kept: str) -> None:
    assert redaction("Juan Pérez").address(address) == kept


def test_one_field_may_have_two_names() -> None:
    assert names_in("N. Dlamini t/a Quillfeather Taxis") == (
        ("n", "dlamini"),
        ("quillfeather", "taxis"),
    )
    # What looks like a form is a surname where nothing else is left of the name.
    assert names_in("João de Sá") == (("joao", "sa"),)


words = st.text(string.ascii_lowercase, min_size=4, max_size=9)


# Two short names, glued.
@example(["aaaa", "aaab"], [], [], Random(0), "", False)
@given(
    name=st.lists(words, min_size=2, max_size=4, unique=True),
    before=st.lists(words, max_size=3),
    after=st.lists(words, max_size=3),
    order=st.randoms(use_true_random=False),
    joint=st.sampled_from([" ", "-", "_", ", ", ".", "", "%20", "\n"]),
    capitals=st.booleans(),
)
def test_no_order_case_or_joint_hides_a_name(
    name: list[str],
    before: list[str],
    after: list[str],
    order: Random,
    joint: str,
    capitals: bool,
) -> None:
    shuffled = list(name)
    order.shuffle(shuffled)
    written = joint.join(shuffled)
    text = " ".join([*before, written.upper() if capitals else written, *after])
    left = redaction(" ".join(name))
    redacted = left.text(text)
    assert not left.has(redacted)
    if names_in(" ".join(name)) and len(distinctive_words(" ".join(name))) > 1:
        assert redacted != text
