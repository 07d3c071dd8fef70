"""Public procurement, as portals publish it in OCDS.

Start with ``sources`` and ``parse``; ``portal_files`` has what portals declare, ``fetch`` asks
them, ``ocds`` has the members that are read, ``parties`` and ``redact`` decide what may be
published. Long bodies come in ``pieces``. Panels over tenders are in ``assets.derive``.
"""
