"""Pages for people: a static site of a build, written when it is published.

Start with ``site``. ``cards`` lists the pages of datasets and panels as data; templates and
scripts are in ``templates`` and ``static``. Pages that are not part of a build (API reference,
methodology) do not belong here.
"""
