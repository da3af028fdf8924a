"""A wing."""
