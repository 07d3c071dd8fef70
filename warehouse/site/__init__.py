"""What every page for people shares: base template, stylesheet, scripts, numbers for people.

``environment`` makes the Jinja environment; ``formats`` writes values for people. Pages of a build
are in ``assets/pages``, pages that the service renders in ``api/site``.
"""
