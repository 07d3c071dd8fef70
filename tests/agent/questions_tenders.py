"""Public tenders: buyers, winners, panels, pages of a long list, and how complete the data is."""

from typing import Any

from tests.agent.published import Published
from tests.agent.question import Answer, Question, always, call, words

_ID = "$1.data[0].service_id"


def _buyers(published: Published) -> Answer:
    rows = published.rows(
        "SELECT name, count(*) AS releases FROM af_tender_parties WHERE country = 'CO' AND latest "
        "AND role = 'buyer' GROUP BY ALL ORDER BY releases DESC, name LIMIT 3"
    )
    return {"releases": [row["releases"] for row in rows]}


def _third_page(published: Published) -> Answer:
    ids = published.column(
        "SELECT release_id FROM af_tender_releases WHERE country = 'KE' AND latest "
        "ORDER BY date DESC, release_id LIMIT 30"
    )
    days = published.column(
        "SELECT date FROM af_tender_releases WHERE country = 'KE' AND latest "
        "ORDER BY date DESC LIMIT 30"
    )
    assert len(set(ids)) == 30
    return {"days": days[20:], "rows": 10}


def _newest(country: str, text: str, **equal: str) -> Any:
    def known(published: Published) -> Answer:
        conditions = "".join(f" AND {name} = ?" for name in equal)
        row = published.rows(
            "SELECT date, tender_value, tender_currency FROM af_tender_releases WHERE latest "
            "AND country = ? AND concat_ws(' ', release->>'$.tender.title', "
            f"release->>'$.tender.description') ILIKE ?{conditions} ORDER BY date DESC LIMIT 1",
            *(country, f"%{text}%", *equal.values()),
        )[0]
        return {"day": row["date"], "currency": row["tender_currency"]}

    return known


def _intensity(published: Published) -> Answer:
    rows = published.panel(
        "listed-award-intensity",
        country="KE",
        dimension="issuer",
        dimension_value=published.service_id(2),
    )
    return {"months": [row["month"] for row in rows], "shares": [row["value"] for row in rows]}


def _median(published: Published) -> Answer:
    rows = published.panel("award-to-estimate", country="ZA", measure="ratio_median")
    (row,) = (row for row in rows if row["month"] == "2025-06-01" and row["dimension"] == "all")
    return {"value": row["value"], "unit": "ratio", "observed": row["n_observed"]}


def _two_sums(published: Published) -> Answer:
    totals = published.rows(
        "SELECT currency, sum(amount) AS value FROM (SELECT DISTINCT ON (ocid, award_id) * "
        "FROM af_tender_awards WHERE latest AND service_id = ? AND amount IS NOT NULL) "
        "GROUP BY currency ORDER BY currency",
        published.service_id(13),
    )
    return {
        "currencies": [row["currency"] for row in totals],
        "sums": [row["value"] for row in totals],
    }


def _floors(sku: str, metric: str, scope: str) -> Any:
    def known(published: Published) -> Answer:
        row = published.rows(
            "SELECT value, floor, status FROM quality_history WHERE sku = ? AND metric = ? "
            "AND scope = ? ORDER BY data_version DESC LIMIT 1",
            *(sku, metric, scope),
        )[0]
        return dict(row)

    return known


def _quality(metric: str, scope: str) -> dict[str, str]:
    row = f"$1.data[metric={metric},scope={scope}]"
    return {name: f"{row}.{name}" for name in ("value", "floor", "status")}


def _last_won(published: Published) -> Answer:
    row = published.rows(
        "SELECT awards.ocid, release.release->>'$.buyer.name' AS buyer, "
        "release.release->>'$.tender.title' AS title FROM af_tender_awards AS awards "
        "JOIN af_tender_releases AS release USING (ocid, release_id) WHERE awards.latest "
        "AND release.latest AND awards.service_id = ? AND awards.amount IS NOT NULL "
        "ORDER BY release.date DESC LIMIT 1",
        published.service_id(2),
    )[0]
    return dict(row)


def _won_at_home(published: Published) -> Answer:
    row = published.rows(
        "SELECT count(*) AS awards, sum(amount) AS value FROM (SELECT DISTINCT ON (ocid, award_id) "
        "* FROM af_tender_awards WHERE latest AND service_id = ? AND amount IS NOT NULL "
        "AND country = 'ZA')",
        published.service_id(13),
    )[0]
    return {"totals": [{"currency": "ZAR", **row}]}


_COUNTY = "Fictional Hills County Government"


def _suppliers_of_the_county(published: Published) -> Answer:
    rows = published.rows(
        "SELECT coalesce(service_id, supplier_name) AS who, sum(amount) AS value FROM ("
        "SELECT DISTINCT ON (ocid, award_id, service_id, supplier_name) awards.* "
        "FROM af_tender_awards AS awards JOIN af_tender_releases AS release "
        "USING (ocid, release_id) WHERE awards.latest AND awards.country = 'KE' "
        "AND release.release->>'$.buyer.name' = ? AND amount IS NOT NULL) "
        "GROUP BY who ORDER BY value DESC LIMIT 3",
        _COUNTY,
    )
    return {"values": [row["value"] for row in rows]}


def _still_open(published: Published) -> Answer:
    rows = published.rows(
        "SELECT tender_status, category, tender_value FROM af_tender_releases "
        "WHERE country = 'KE' AND available_at <= '2025-03-31' AND NOT withdrawn "
        "AND (superseded_at IS NULL OR superseded_at > '2025-03-31') "
        "QUALIFY row_number() OVER (PARTITION BY ocid ORDER BY date DESC, release_id DESC) = 1"
    )
    still = [row for row in rows if (row["tender_status"], row["category"]) == ("active", "works")]
    return {"values": sorted((row["tender_value"] for row in still), reverse=True)[:3]}


QUESTIONS = (
    Question(
        "Who won most, by value, from Kenya's Fictional Hills County Government?",
        (call("get_awards", country="KE", buyer=_COUNTY, order="value", limit=3),),
        {"values": "$1.data[*].totals[0].value"},
        _suppliers_of_the_county,
        1_200,
    ),
    Question(
        "Which Kenyan tenders for works were open on 31 March 2025: the three largest?",
        (
            call(
                "search_tenders",
                country="KE",
                category="works",
                status="active",
                publication="newest",
                order="value",
                as_of="2025-03-31",
                limit=3,
            ),
        ),
        {"values": "$1.data[*].tender.value.amount"},
        _still_open,
        1_200,
    ),
    Question(
        "Who awarded Sahel Telecom its last contract, and for what?",
        (
            call("search_entities", query="Sahel Telecom"),
            call("get_awards", service_id=_ID, limit=1),
            call("search_tenders", query="$2.data[0].ocid", limit=1),
        ),
        {
            "ocid": "$3.data[0].ocid",
            "buyer": "$3.data[0].buyer.name",
            "title": "$3.data[0].tender.title",
        },
        _last_won,
        1_000,
    ),
    Question(
        "What has Andina Insurance won in South Africa?",
        (
            call("search_entities", query="Andina Insurance"),
            call("get_awards", service_id=_ID, country="ZA", limit=1),
        ),
        {"totals": "$2.totals"},
        _won_at_home,
        650,
    ),
    Question(
        "What has Andina Insurance won in Kenya?",
        (
            call("search_entities", query="Andina Insurance"),
            call("get_awards", service_id=_ID, country="KE", limit=1),
        ),
        {"code": "$2.empty.code", "reason": "$2.empty.detail", "totals": "$2.totals"},
        always(code="not_held_together", reason=words("not together", "ZA"), totals=[]),
        450,
    ),
    Question(
        "Which three public buyers of Colombia publish most?",
        (call("get_resolved_parties", country="CO", role="buyer", limit=3),),
        {"releases": "$1.data[*].releases"},
        _buyers,
        450,
    ),
    Question(
        "Page through Kenya's releases, newest first: what is on the third page of ten?",
        (
            call("search_tenders", country="KE", limit=10),
            call("search_tenders", country="KE", limit=10, cursor="$1.next_cursor"),
            call("search_tenders", country="KE", limit=10, cursor="$2.next_cursor"),
        ),
        {"days": "$3.data[*].date", "rows": "$3.count"},
        _third_page,
        7_500,
    ),
    Question(
        "What is the newest Kenyan tender for catering?",
        (call("search_tenders", country="KE", query="catering", limit=1),),
        {"day": "$1.data[0].date", "currency": "$1.data[0].tender.value.currency"},
        _newest("KE", "catering"),
        500,
    ),
    Question(
        "Which tender for works was cancelled last in South Africa?",
        (call("search_tenders", country="ZA", category="works", status="cancelled", limit=1),),
        {"day": "$1.data[0].date", "currency": "$1.data[0].tender.value.currency"},
        _newest("ZA", "", category="works", tender_status="cancelled"),
        500,
    ),
    Question(
        "Which share of its revenue does Sahel Telecom win in Kenyan public contracts "
        "(listed-award-intensity)?",
        (
            call("search_entities", query="Sahel Telecom"),
            call(
                "get_signal",
                signal_key="listed-award-intensity",
                country="KE",
                dimension="issuer",
                dimension_value=_ID,
            ),
        ),
        {"months": "$2.observations[*].month", "shares": "$2.observations[*].value"},
        _intensity,
        800,
    ),
    Question(
        "How do awards compare with estimates in South Africa in June 2025: the median "
        "(ratio_median of award-to-estimate)?",
        (
            call(
                "get_signal",
                signal_key="award-to-estimate",
                country="ZA",
                dimension="all",
                measure="ratio_median",
                from_="2025-06-01",
                to="2025-06-30",
            ),
        ),
        {
            "value": "$1.observations[0].value",
            "unit": "$1.observations[0].unit",
            "observed": "$1.observations[0].n_observed",
        },
        _median,
        350,
    ),
    Question(
        "What has Andina Insurance won in all, and in which currencies?",
        (
            call("search_entities", query="Andina Insurance"),
            call("get_awards", service_id=_ID, limit=1),
        ),
        {"currencies": "$2.totals[*].currency", "sums": "$2.totals[*].value"},
        _two_sums,
        650,
    ),
    Question(
        "How fresh are Kenyan tenders (ke-ppip)?",
        (call("get_quality_metrics", sku="AF-TENDER"),),
        _quality("days_since_new", "ke-ppip"),
        _floors("AF-TENDER", "days_since_new", "ke-ppip"),
        1_200,
    ),
    Question(
        "Do the balance sheets add up (AF-FUND)?",
        (call("get_quality_metrics", sku="AF-FUND"),),
        _quality("accounting_identity", "fundamentals"),
        _floors("AF-FUND", "accounting_identity", "fundamentals"),
        650,
    ),
    Question(
        "How many of Kenya's tender parties are resolved to an organisation?",
        (call("get_quality_metrics", sku="AF-TENDER"),),
        _quality("parties_resolved", "KE"),
        _floors("AF-TENDER", "parties_resolved", "KE"),
        1_200,
    ),
)
