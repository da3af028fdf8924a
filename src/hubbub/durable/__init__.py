"""The one way to disk: journals that survive a crash.

``Journal`` is a file of lines, each on disk before it counts.
"""

from hubbub.durable.journal import Journal

__all__ = ["Journal"]
