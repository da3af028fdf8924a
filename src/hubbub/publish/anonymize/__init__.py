"""Partition models: k-anonymity, l-diversity, t-closeness and what they give away; they promise no privacy by noise.

``mondrian`` and ``full_domain`` make tables; ``privacy_models`` says what a class must fulfil; ``checks`` verifies a
table. From outside use ``hubbub.publish``. Start with ``mondrian``.
"""

from hubbub.publish.anonymize.anonymized_table import NO_GUARANTEE
from hubbub.publish.anonymize.privacy_models import least_size
from hubbub.publish.anonymize.request import split_unit

__all__ = ["NO_GUARANTEE", "least_size", "split_unit"]
