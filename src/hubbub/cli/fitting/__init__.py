"""What ``hubbub fit`` and ``hubbub predict`` share.

- ``facts``: from a descriptor or what was typed to columns and a target, with the lines that are missing
- ``rows``: reading cells after the charge, one row per person; reading tables that are public
- ``writing``: models and cards in files
- ``progress``: a bar on stderr, where somebody is looking
"""
