"""Steps of a publication: pure functions of files, made once and found again by their key.

Start reading at ``step``; ``files`` has the manifest of a build.
"""
