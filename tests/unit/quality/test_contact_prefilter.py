from hypothesis import given
from hypothesis import strategies as st

from quality.contact_prefilter import may_have_contact, texts_with_contact

WORDS = st.sampled_from(
    (
        *("contact", "Contato", "CONTACT", "liaison", "attention", "attn", "consultas"),
        *("responsable", "enquiries", "Queries", "(at)", "[AT]", "a@b.example", "mr", "Mrs."),
        *("MS", "miss", "ms_", "mſ", "012", "345", "6789", "+27(0)11", "0722-123-456"),
        *("٣٤٥٦٧٨٩", "road", "works", "2026", "1/2/3", "ATTN:", "\x1c", "\x1f", "\x0b"),
        *("(", ")", ".", "-", "/", "Buyer:", "Dr", "Señor", "tel", "arroba", "dot"),
    )
)
TEXT = st.lists(WORDS | st.text(st.characters(codec="utf-8"), max_size=4)).map("".join)
TEXTS = st.lists(TEXT | st.lists(WORDS).map(" ".join))


@given(TEXTS)
def test_many_texts_are_suspect_exactly_where_each_of_them_is(texts: list[str]) -> None:
    assert texts_with_contact(texts) == [
        at for at, text in enumerate(texts) if may_have_contact(text)
    ]
