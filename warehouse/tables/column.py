"""How a column is described: its meaning and an example, once for every surface."""

from typing import Any

from pydantic_core import PydanticUndefined
from sqlmodel import Field


def column(meaning: str, example: Any, default: Any = PydanticUndefined) -> Any:
    """Describe a column; the schema of each surface shows the meaning and the example."""
    return Field(default, description=meaning, schema_extra={"examples": [example]})
