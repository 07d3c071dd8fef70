"""What is stored and how it is read. Imports no other top-level package.

``tables`` defines every row, ``names`` finds and removes names, ``record`` stores rows append-only,
``publish`` makes a build of them, ``serve`` queries it, ``contract`` is what both surfaces promise,
``methodology`` explains derived values, ``control`` has keys and operators' actions. Start with
``tables`` and ``record``.

The modules of ``shared`` are used by all of them and import none of them.
"""
