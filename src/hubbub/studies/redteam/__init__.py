"""The red team: every attack that applies, against the exact, the k-anonymous and the private face of one dataset.

- ``target``    who is attacked: one row per person, what outsiders may know of them, and the secret
- ``faces``     the three ways in which the same table is handed out
- ``attempts``  one attack on one face; what does not apply says why
- ``attack``    all of it on one dataset
- ``report``    all attempts on one page
- ``example``   a made-up clinic, for those who bring no dataset

Start with ``attack``.
"""

from hubbub.studies.redteam import attempts, example, faces, target
from hubbub.studies.redteam.attack import attack_dataset
from hubbub.studies.redteam.report import RedTeam

__all__ = ["RedTeam", "attack_dataset", "attempts", "example", "faces", "target"]
