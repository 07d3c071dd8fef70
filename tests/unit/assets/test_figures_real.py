"""The figures of real issuers compared with an independent reading of the same files."""

import pytest

from tests.helpers.figures_report import real_companies, report, table


@pytest.mark.nightly
@pytest.mark.shared
def test_every_line_of_real_issuers_is_as_an_independent_reader_finds_it() -> None:
    paths = list(real_companies())
    if not paths:
        pytest.skip("the real files are not next to the checkout")
    result = report(paths)
    total = result.total()
    shown = table(result) + "\n" + "\n".join(result.differences)
    assert total["wrong"] == 0, shown
    assert total["missing"] < total.total() / 100, shown
    stated = [has for states, has in result.revenue if states]
    assert sum(stated) > 0.95 * len(stated), shown
