"""The words of the rules: figures, questions, truths, answers."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol

Track = Literal["filings", "series", "indicators"]
Moment = Literal["end", "close"]
Kind = Literal["known", "first"]
# The close of the New York session; a filing accepted later is not known at the close of its day.
CLOSE = "16:00"


@dataclass(frozen=True, order=True)
class Figure:
    """What a value is of: two values of one figure may replace each other, others never do.

    ``subject`` is the CIK of an issuer, the id of a series, or COUNTRY/INDICATOR. ``currency`` and
    ``start`` are empty where there is none: a balance has an end alone.
    """

    track: Track
    subject: str
    measure: str
    currency: str
    start: str
    end: str


@dataclass(frozen=True)
class Question:
    """A question: what was the value of a figure, as anyone could have known it.

    ``moment`` is the end of the day ``as_of``, or the close of its session in New York. ``kind`` is
    the newest value known by then, or the first that was ever published.
    """

    id: str
    figure: Figure
    as_of: str
    moment: Moment
    kind: Kind
    strata: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """A value, or None for the statement that nothing was known."""

    value: Decimal | None


@dataclass(frozen=True)
class Truth:
    """What a reader of the files found.

    ``accepted`` is what is right: one value, several if the figure is contested, none if nothing
    was known. ``known`` are all values published by then, ``later`` those published afterwards or
    on an unknown day. ``public`` are those that any element had by then for the period.
    """

    accepted: frozenset[Decimal]
    known: frozenset[Decimal]
    public: frozenset[Decimal]
    later: frozenset[Decimal]

    @property
    def is_contested(self) -> bool:
        """Whether filings of one day, or elements, disagree on the value."""
        return len(self.accepted) > 1


class Adapter(Protocol):
    """What is tested. It gets a question, never a truth."""

    tracks: frozenset[Track]

    def answer(self, question: Question) -> Answer | None:
        """Return the answer, or None for no answer at all."""
        ...


def same(left: Decimal, right: Decimal) -> bool:
    """Return whether two values are equal, or one is the other rounded or cut off.

    The coarser one needs three significant digits, or two decimals: below that, nearly everything
    would be a rounding of something.
    """
    if left == right:
        return True
    coarse, fine = sorted((left.normalize(), right.normalize()), key=_last_place, reverse=True)
    if len(coarse.as_tuple().digits) < 3 and _last_place(coarse) > -2:
        return False
    # Half of the last place if it was rounded, a whole one if it was cut off.
    return abs(coarse - fine) < Decimal(1).scaleb(_last_place(coarse)) and (
        abs(fine) >= abs(coarse) or abs(coarse - fine) <= Decimal(5).scaleb(_last_place(coarse) - 1)
    )


def _last_place(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent
