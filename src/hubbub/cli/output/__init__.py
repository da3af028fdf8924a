"""What is printed or written: streams, tables, progress, files; one file per kind of output.

``streams`` keeps data and talk apart, ``terminal`` is all that knows rich, ``answers`` shows a release. For ``cli``
alone. Start with ``streams``.
"""

__all__: list[str] = []  # for cli alone
