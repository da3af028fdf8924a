"""What is installed on this machine, for ``hubbub doctor`` and the server's page of its health.

- ``checkup``  versions, extras, programs and the random source, as text and as JSON: start reading here
"""

from hubbub.studies.installation.checkup import Checkup, examine_installation

__all__ = ["Checkup", "examine_installation"]
