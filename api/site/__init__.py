"""Pages for people: the service renders all of them.

Start with ``routes``. ``sample`` asks as a sample key would, ``render`` writes; each other module
is the pages of one subject. What shows a whole build is computed when that is published: see
``page_data`` of ``warehouse.serve.catalogue``.
"""
