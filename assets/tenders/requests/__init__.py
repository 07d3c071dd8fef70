"""The three ways a portal is asked: follow links, read an index, or download files by period.

``declared`` says what an entry of a portal may contain, ``patterns`` turns it into
addresses, and ``links``, ``index`` and ``files`` send the requests. What the responses say is read
by the parser, elsewhere.
"""
