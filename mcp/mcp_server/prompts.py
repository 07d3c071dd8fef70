"""Prompts: three tasks that need several tools, in the order in which they are best called."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_types import Prompt, PromptArgument

_RULES = (
    "Quote source_ref and license_class of what you use. What is absent is unknown: add no "
    "estimate, and convert no currency. If a result has no rows, report the reason in `empty`."
)


@dataclass(frozen=True)
class Task:
    """One prompt: its arguments with their meaning, and its text with their names in braces."""

    title: str
    about: str
    arguments: Mapping[str, str]
    text: str

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with the arguments in their places."""
        text = self.text
        for name in self.arguments:
            text = text.replace(f"{{{name}}}", values[name])
        return f"{text} {_RULES}"


TASKS: Mapping[str, Task] = {
    "restatement_review": Task(
        "Review restatements",
        "What an issuer restated, when, and by how much.",
        {"company": "Name, ticker, LEI or service_id of the issuer."},
        "Review what {company} restated. Find it with search_entities; if several organisations "
        "fit, ask which is meant. Call get_fundamentals with vintages all for revenue, profit, "
        "total_assets, total_equity and cfo. For each figure with more than one vintage give the "
        "period, every value with the day from which it was known, and restatement_kind; tell "
        "corrections of a slip and changes of the measuring unit from restatements proper.",
    ),
    "supplier_due_diligence": Task(
        "Due diligence on a supplier",
        "Who a supplier is, what it won from public bodies, and how sure that is.",
        {"supplier": "Name or identifier of the supplier.", "country": "Country of the tenders."},
        "Examine the supplier {supplier} in public tenders of {country}. Find it with "
        "search_entities and read its record with get_entity. Call get_awards with its service_id "
        "for what it won, and get_resolved_parties with it for its roles and match_method. Call "
        "get_quality_metrics for AF-TENDER and say what missing values and withheld parties mean "
        "for the totals. If it is listed, compare its awards with its revenue of the same year by "
        "get_fundamentals.",
    ),
    "point_in_time_screen": Task(
        "Screen as of a day",
        "Rank issuers by a metric as it could be known on a day, and check the first.",
        {
            "metric": "A metric, such as return_on_equity.",
            "country": "Country of the issuers.",
            "as_of": "The day, YYYY-MM-DD.",
        },
        "Rank the issuers of {country} by {metric} as it was knowable on {as_of}. Call "
        "screen_issuers with metric, country and as_of, and report `universe`: how many were left "
        "out, and why. For the first three call get_metrics with the same as_of and show the "
        "inputs. Use nothing that became public after {as_of}: every further call has the same "
        "as_of.",
    ),
}

PROMPTS = [
    Prompt(
        name=name,
        title=task.title,
        description=task.about,
        arguments=[
            PromptArgument(name=argument, description=meaning, required=True)
            for argument, meaning in task.arguments.items()
        ],
    )
    for name, task in TASKS.items()
]
