"""One file per command. Each reads its options, calls one room or study, and prints what comes back.

What several commands read or print is in ``options`` and ``output``; what is worked out is in other rooms. Nothing here
is imported from outside of ``cli``. Start with ``doctor``, the shortest, then ``query``.
"""

__all__: list[str] = []  # commands are found by cli alone
