"""Shufflers and mixnets: batches whose order and senders nobody can tell.

From outside use ``hubbub.local``. Start with ``shuffler``.
"""

from hubbub.local.shuffling import shuffler_http
from hubbub.local.shuffling.shuffler import Shuffler

__all__ = ["Shuffler", "shuffler_http"]
