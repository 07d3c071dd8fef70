"""What a language model should know first, written from the declarations (llmstxt.org)."""

from collections.abc import Iterable, Mapping

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint

_HEAD = """\
# Sankofa

> Point-in-time data for African and emerging markets: company fundamentals, public tenders, macro
> series. `as_of` answers with what was knowable on that day; `X-Data-Version` pins what we had.

- Send the key in `X-API-Key`; `/docs` shows a public sandbox key of the sample tier (25 rows).
- Absent is null. Every row carries its source and licence. There is no natural-person data.
- An unknown parameter is 400. Errors are `application/problem+json`; `detail` says what to mend.
- Countries are ISO 3166-1 alpha-2, alpha-3 on `/v1/shared/facts`. Dates are YYYY-MM-DD.
"""


def text(base_url: str, methodology: Mapping[str, Iterable[str]]) -> str:
    """Write the page with absolute addresses of a host."""
    pages = [
        f"- [{name}/{slug}]({base_url}/methodology/{name}/{slug})"
        for name, slugs in methodology.items()
        for slug in slugs
    ]
    parts = (
        _HEAD,
        "## Endpoints\n",
        *(_line(base_url, each) for each in ENDPOINTS),
        "\n## Reference\n",
        f"- [OpenAPI 3.1]({base_url}/openapi.json): every parameter, status and shape",
        f"- [Interactive reference]({base_url}/docs)",
        f"- [Export manifest]({base_url}/exports/latest/manifest.json): Parquet files, signed",
        f"- [Signing key]({base_url}/exports/signing-key.pem)",
        "\n## Optional\n",
        *pages,
    )
    return "\n".join(parts) + "\n"


def _line(base_url: str, endpoint: Endpoint) -> str:
    names = ", ".join(each.name for each in endpoint.parameters)
    given = f" Parameters: {names}." if names else ""
    return f"- [GET {endpoint.path}]({base_url}{endpoint.path}): {endpoint.summary}.{given}"
