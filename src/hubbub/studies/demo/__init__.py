"""The guided tour behind ``hubbub demo``: one hospital, one chapter per file.

``story`` has the chapters in order; each file is one of them. Start with ``story``.
"""

from hubbub.studies.demo.story import tell_story

__all__ = ["tell_story"]
