"""Runs and agreements in words and pictures, for those who take part and those who check.

``agreement_notice`` before a run, ``certificate_sheet`` and ``run_picture`` after it. Other rooms
take the names below, or those of ``hubbub.gopa``. Start with ``agreement_notice``.
"""

from hubbub.gopa.reports.agreement_notice import Notice
from hubbub.gopa.reports.certificate_sheet import CertificateSheet

__all__ = ["CertificateSheet", "Notice"]
