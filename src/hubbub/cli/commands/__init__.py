"""One file per command of ``hubbub``. Each reads its options, calls one room or study, and prints what comes back."""
