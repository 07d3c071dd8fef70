"""Names of organisations and people: how they are read, compared, and found in texts.

``reading`` has the one form in which names are compared and splits a name into words,
``legal_forms`` and ``public_bodies`` recognise organisations, ``word_lists`` has their words,
``search_words`` compares names and makes the words of the search. ``spellings`` finds a name in a
text however it is written; ``redaction`` takes it out, and seals the names of people to store them.
Whether a name is an organisation's is judged in ``quality.persons``, not here.
"""
