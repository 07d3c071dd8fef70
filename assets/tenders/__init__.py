"""Public procurement, as portals publish it in OCDS.

Start with ``sources`` and ``parse``; ``portals`` has the quirks of portals, ``ocds`` the members
that are read, ``parties`` and ``redact`` decide what may be published. Long bodies come in through
``stream``. Panels over tenders are in ``assets/signals``.
"""
