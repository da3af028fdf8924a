"""What is installed on this machine, for ``hubbub doctor``.

- ``checkup``  versions, extras, programs and the random source, as text and as JSON

Start with ``checkup``.
"""

from hubbub.studies.installation.checkup import Checkup, examine_installation

__all__ = ["Checkup", "examine_installation"]
