"""Pages for people that the service renders, from the answers that a sample key would get.

Start with ``routes``. ``sample`` asks, ``render`` writes; each other module is the pages of one
subject. Templates are in ``templates``; what pages share is in ``warehouse/site``. Pages that are
written with a build do not belong here.
"""
