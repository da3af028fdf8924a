"""``python -m hubbub.cli`` is the same as ``hubbub``."""

from hubbub.cli import main

if __name__ == "__main__":
    main()
