"""Names of organisations and people: how they are read, compared, and found in texts.

``plain`` is the one form in which names are compared, ``reading`` splits a name into words,
``legal_forms`` and ``public_bodies`` recognise organisations, ``word_lists`` has
their words. ``spellings`` finds a name in a text however it is written, ``redaction`` takes it out,
``sealed`` is how names of people are stored. Whether a name is an organisation's is judged in
``quality.persons``, not here.
"""
