"""PATE: private aggregation of teacher ensembles, for private rows and public ones without labels.

    shards -> teachers -> votes on public rows -> noisy answers -> a student

- ``PATEClassifier``: all of it as an estimator
- ``teachers``, ``votes``: a model per shard; the histogram that one unit moves by one vote
- ``aggregation``: GNMax and Confident-GNMax, whose cost is known before a row is read
- ``data_dependent_cost``, ``smooth_sensitivity``: what the answers cost on these very votes, and how that is
  told privately
- ``query_selection``, ``student``: which public rows are asked about, and who learns from the answers: post-processing
- ``plan``: every decision before a value is read

Start with ``classifier``, then ``plan``.
"""

from hubbub.learn.pate.classifier import PATEClassifier
from hubbub.learn.pate.smooth_sensitivity import InstanceCost
from hubbub.learn.pate.student import GraphStudent
from hubbub.learn.pate.teachers import LeastSquaresTeacher

__all__ = ["GraphStudent", "InstanceCost", "LeastSquaresTeacher", "PATEClassifier"]
