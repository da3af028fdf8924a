"""What a question costs and how exact it will be: from terms that people state to the noise of each measure.

``price`` reads the terms, ``noise_allocation`` turns a price into noise, ``error_prediction`` says how far that strays,
``noise_choice`` compares noises, and ``priced_statement`` does all of it for a text. Start with ``priced_statement``.
"""

__all__: list[str] = []  # for hubbub.sql alone
