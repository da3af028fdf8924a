"""What needs several rooms, and is used by ``cli`` alone: each wing is one study.

- ``demo``          the guided tour: one hospital, one chapter per file
- ``redteam``       every attack that applies, on one dataset
- ``publication``   what ``hubbub publish`` makes, compares and attacks
- ``spending``      what a ledger holds, for people
- ``installation``  what is installed on this machine

Each wing is imported by itself. Start with ``redteam/attack``.
"""

__all__: list[str] = []  # each wing is a door
