"""What the parsers of all subjects share: the result type and strict readers.

Start with ``parsed``: rows and rejections are what every parser returns. Nothing here does I/O
over the network or knows a source.
"""
