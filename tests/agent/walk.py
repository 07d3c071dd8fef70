"""Walks the path of a question over the real server, with nothing but what it has been told."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from tests.agent.published import years_in
from tests.agent.question import Question
from tests.agent.selectors import is_selector, select
from tests.helpers.mcp_service import call, post, request
from tests.helpers.rest_service import Served

# Ids and cursors are never guessed.
_ONLY_TOLD = ("service_id", "cursor", "data_version", "ocid")
# How much a result has, not what is asked for.
_FREE = ("limit", "verbose")
_DAY = re.compile(r"(\d{4})(-\d\d){0,2}|FY(\d{4})")
_AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?(?:\s+(?:thousand|million|billion))?")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
# Names of countries that questions use; everybody knows their codes.
_COUNTRIES = {
    "CI": "Ivoire",
    "CO": "Colombia",
    "EG": "Egypt",
    "GH": "Ghana",
    "KE": "Kenya",
    "MA": "Morocco",
    "MU": "Mauriti",
    "NA": "Namibia",
    "NG": "Nigeria",
    "TZ": "Tanzania",
    "ZA": "South Africa",
}


@dataclass(frozen=True)
class Walked:
    """The results of a path, and what a model reads of them."""

    results: Sequence[Any]
    errors: Sequence[bool]
    texts: Sequence[str]
    answer: Mapping[str, Any]

    @property
    def tokens(self) -> int:
        """Bytes of the texts by four."""
        return sum(len(text.encode()) for text in self.texts) // 4


@dataclass(frozen=True)
class Agent:
    """A client that knows the list of tools and the description of the data."""

    server: Served
    keys: Mapping[str, str]

    @cached_property
    def tools_body(self) -> bytes:
        """The list of tools as it is sent."""
        return post(self.server, request("tools/list"), self.keys["professional"]).body

    @cached_property
    def tools(self) -> dict[str, Any]:
        """The tools by name."""
        listed = json.loads(self.tools_body)["result"]["tools"]
        return {tool["name"]: tool for tool in listed}

    @cached_property
    def described(self) -> str:
        """What describe_data says."""
        return self._text("describe_data", {}, "professional")[1]

    def walk(self, question: Question) -> Walked:
        """Make the calls of a question; an argument that nothing told is refused."""
        results: list[Any] = []
        texts: list[str] = []
        errors: list[bool] = []
        for step in question.path:
            self.check_told(question, step.arguments)
            arguments = self._filled(step.arguments, results)
            is_error, text = self._text(step.tool, arguments, question.tier)
            texts.append(text)
            errors.append(is_error)
            results.append(json.loads(text, parse_float=Decimal, parse_int=Decimal))
        answer = {
            name: select(selector, results, self.tools) for name, selector in question.says.items()
        }
        return Walked(results, errors, texts, answer)

    def _filled(self, value: Any, results: Sequence[Any]) -> Any:
        """Fill arguments from earlier results, also in the claims of a list."""
        if isinstance(value, Mapping):
            return {name: self._filled(each, results) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each, results) for each in value]
        return select(value, results, self.tools) if is_selector(value) else value

    def check_told(self, question: Question, arguments: Mapping[str, Any]) -> None:
        """Check that every literal stands in the question, the list of tools or the description."""
        for name, value in arguments.items():
            if is_selector(value) or name in _FREE:
                continue
            # The question itself may name an LEI or a ticker.
            is_told = name not in _ONLY_TOLD or str(value) in question.text
            assert is_told, f"{name} {value!r} was guessed: {question.text}"
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, Mapping):
                    self.check_told(question, each)
                    continue
                assert self._is_told(question.text, name, each), (
                    f"nothing told {name} {each!r}: {question.text}"
                )

    def _is_told(self, text: str, name: str, value: object) -> bool:
        if isinstance(value, int | float):
            return Decimal(str(value)) in _amounts(text)
        literal = str(value)
        if name == "country":
            return _COUNTRIES.get(literal, literal) in text
        if day := _DAY.fullmatch(literal):
            return (day[1] or day[3]) in years_in(text)
        told = text if name == "query" else f"{text} {self.tools_body.decode()} {self.described}"
        return _words(literal) <= _words(told)

    def _text(self, tool: str, arguments: Mapping[str, Any], tier: str) -> tuple[bool, str]:
        result = call(self.server, self.keys[tier], tool, arguments).result
        shown = [block["text"] for block in result["content"] if block["type"] == "text"]
        return bool(result.get("isError")), "\n".join(shown)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _amounts(text: str) -> set[Decimal]:
    """Return the numbers of a text, with and without the word for a scale behind them."""
    found: set[Decimal] = set()
    scales = [size for word, size in _SCALES.items() if word in text]
    for match in _AMOUNT.findall(text):
        digits, _, scale = match.replace(",", "").partition(" ")
        number = Decimal(digits)
        found |= {number, number * _SCALES.get(scale.strip(), 1), *(number * s for s in scales)}
    return found
