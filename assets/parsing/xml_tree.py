"""A small XML document as a tree, with the namespaces that are in scope at each element.

Safe to read from anybody: no entity is expanded, no address is followed, depth is bounded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast
from xml.parsers import expat

_DEEPEST = 500
_SEPARATOR = " "


@dataclass(slots=True)
class Element:
    """An element; its name and those of qualified attributes are ``namespace local``.

    ``content`` are its texts and elements in order, ``line`` is where it begins.
    """

    name: str
    attributes: dict[str, str]
    namespaces: dict[str, str]
    line: int
    content: list["Element | str"] = field(default_factory=list)

    @property
    def local(self) -> str:
        """The name without its namespace."""
        return self.name.rpartition(_SEPARATOR)[2]

    @property
    def namespace(self) -> str:
        """The namespace of the name; empty if it has none."""
        return self.name.rpartition(_SEPARATOR)[0]

    @property
    def children(self) -> list["Element"]:
        """The elements directly within it."""
        return [part for part in self.content if not isinstance(part, str)]

    def descendants(self) -> Iterator["Element"]:
        """Yield it and all elements within it, in the order of the document."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def text(self, without: str = "") -> str:
        """Return all text within it, but not that of elements named ``without``."""
        texts: list[str] = []
        stack: list[Element | str] = [self]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                texts.append(part)
            elif part.name != without:
                stack.extend(reversed(part.content))
        return "".join(texts)

    def qualified(self, name: str) -> tuple[str, str]:
        """Return namespace and local part of a name that is written with a prefix; ValueError."""
        prefix, colon, local = name.strip().rpartition(":")
        if not local or (colon and prefix not in self.namespaces):
            raise ValueError(f"{name!r:.60} has a prefix that is not declared")
        return self.namespaces.get(prefix, ""), local


def read_tree(body: bytes) -> Element:
    """Return the root of a document.

    ValueError if it is no XML, is nested too deeply, or declares or uses entities. A document
    type that only names itself, as XHTML has one, is none of that and is passed over.
    """
    builder = _Builder()
    builder.read(body)
    return cast(Element, builder.root)


class _Builder:
    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._declared: dict[str, str] = {}

    def read(self, body: bytes) -> None:
        self._parser = parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartNamespaceDeclHandler = self._declare
        parser.StartDoctypeDeclHandler = self._doctype
        parser.SkippedEntityHandler = self._skipped
        try:
            parser.Parse(body, True)
        except (expat.ExpatError, LookupError, UnicodeError) as error:
            raise ValueError(f"not XML: {error}") from None

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        self._declared[prefix or ""] = uri or ""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= _DEEPEST:
            raise ValueError(f"elements within elements: more than {_DEEPEST}")
        scope = self._open[-1].namespaces if self._open else {}
        if self._declared:
            scope, self._declared = scope | self._declared, {}
        element = Element(name, attributes, scope, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].content.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        self._open[-1].content.append(text)

    def _doctype(self, _name: str, _system: object, _public: object, has_subset: bool) -> None:
        if has_subset:
            raise ValueError("a document type with declarations of its own: refused")

    def _skipped(self, name: str, _is_parameter: bool) -> None:
        raise ValueError(f"the entity {name!r:.40} is not declared")
