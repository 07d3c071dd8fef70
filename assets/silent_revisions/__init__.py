"""Silent revisions: what publishers changed without saying so, as we saw it.

Start with ``derive``: it compares the vintages of the snapshot and says when the old content was
last seen. ``release_members`` says which members of a tender release differ.
"""
