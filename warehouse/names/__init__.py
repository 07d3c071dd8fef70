"""Names of organisations and people: how they are read, compared, and found in texts.

``reading`` has the one form in which names are compared and splits a name into words,
``legal_forms``, ``legal_names`` and ``public_bodies`` recognise organisations, ``word_lists`` has
their words. ``spellings`` finds a name in a text however it is written; ``redaction`` takes it out,
and seals the names of people to store them. Whether a name is an organisation's is judged in
``quality.persons``, not here.
"""
