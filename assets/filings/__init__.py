"""Company filings: the figures issuers reported to the SEC, to Brazil's CVM or in xBRL-JSON.

Start with ``sources``, then ``companyfacts``. ``line_items`` maps taxonomy elements to lines;
``figures`` and ``restatements`` decide which readings of a filing count. Metrics derived from the
figures are in ``assets.derive``.
"""
