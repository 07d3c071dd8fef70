"""The formulas as numbered rows for the statements: numbers are joined faster than texts."""

from typing import Any

from warehouse.methodology.metrics import BALANCES, FORMULAS, Input

_LINE_ITEMS = sorted({needed.line_item for formula in FORMULAS for needed in formula.inputs})
_ITEM_NUMBERS = {line_item: number for number, line_item in enumerate(_LINE_ITEMS)}
# Each figure that any formula needs, of this year or the one before, has a bit: whether all
# inputs of a formula are there is one comparison of two whole numbers.
_BITS: dict[Input, int] = {
    needed: number
    for number, needed in enumerate(
        dict.fromkeys(needed for formula in FORMULAS for needed in formula.inputs)
    )
}

# What each metric needs: an item, of which year, at which input position.
FORMULA_INPUTS: list[dict[str, Any]] = [
    {
        "metric_no": metric_no,
        "input_position": position,
        "item_no": _ITEM_NUMBERS[needed.line_item],
        "is_prior_year": needed.last_year,
        "bit": _BITS[needed],
    }
    for metric_no, formula in enumerate(FORMULAS)
    for position, needed in enumerate(formula.inputs)
]
ITEMS: list[dict[str, Any]] = [
    {"item_no": number, "line_item": line_item, "is_balance": line_item in BALANCES}
    for line_item, number in _ITEM_NUMBERS.items()
]
# The statement of each input of an outcome: input_0, input_1 and so on.
INPUT_COLUMNS = ", ".join(
    f"max(statement_no) FILTER (input_position = {position}) AS input_{position}"
    for position in range(max(len(formula.inputs) for formula in FORMULAS))
)
