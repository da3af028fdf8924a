"""Regular expressions that every engine reads alike, and matches in a time that grows with the text alone.

Only what a finite automaton decides is let through: no references to earlier groups, no looking ahead or back. What
engines read differently (the dot and line breaks, \\d and \\w beyond ASCII) is spelled out. The size is how many steps
one character can take: counted repetitions are as large as they are long when written out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_REPEATS = 100
MOST_SIZE = 400
_DEEPEST = 12
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_SPECIAL = set("\\^$.|?*+()[]{}")
_CONTROLS = "tnfr"


class BadPattern(ValueError):
    """What a pattern has that cannot be used, in words."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A pattern in the spelling that all engines read alike, its size, and how many groups it has."""

    text: str
    size: int
    groups: int


def read_pattern(pattern: str) -> TextPattern:
    """The pattern, checked; ``BadPattern`` says what cannot be used."""
    reader = _Reader(pattern)
    text, size = reader.alternatives(0)
    if reader.place < len(pattern):
        raise BadPattern("a bracket is closed that was never opened")
    if size > MOST_SIZE:
        raise BadPattern(f"it has {size:,} parts once its repetitions are written out, and {MOST_SIZE} are the most")
    return TextPattern(text, max(1, size), reader.groups)


@dataclass(slots=True)
class _Reader:
    """Reads a pattern from left to right; each part gives its spelling and its size."""

    pattern: str
    place: int = 0
    groups: int = field(default=0)

    def alternatives(self, depth: int) -> tuple[str, int]:
        if depth > _DEEPEST:
            raise BadPattern(f"its brackets are more than {_DEEPEST} deep")
        parts = [self._sequence(depth)]
        while self._take("|"):
            parts.append(self._sequence(depth))
        return "|".join(text for text, _ in parts), sum(size for _, size in parts)

    def _sequence(self, depth: int) -> tuple[str, int]:
        texts, whole = [], 0
        while self.place < len(self.pattern) and self.pattern[self.place] not in "|)":
            text, size = self._repeated(depth)
            texts.append(text)
            whole += size
        if not texts:
            raise BadPattern("a part of it is empty")
        return "".join(texts), whole

    def _repeated(self, depth: int) -> tuple[str, int]:
        if self._next() in "^$":
            sign = self._read()
            if self._next() in "*+?{":
                raise BadPattern(f"{sign} is repeated")
            return sign, 1
        text, size = self._single(depth)
        again, times = self._repetition()
        if self._next() in "*+{":
            raise BadPattern("a repetition is repeated")
        return text + again, size * times

    def _repetition(self) -> tuple[str, int]:
        sign = self._next()
        if sign in ("*", "+", "?"):
            self._read()
            return sign + self._lazy(), 2 if sign == "+" else 1
        if sign != "{":
            return "", 1
        end = self.pattern.find("}", self.place)
        low, comma, high = self.pattern[self.place + 1 : end].partition(",")
        numbers = [part for part in (low, high) if part]
        if end < 0 or not low or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in numbers):
            raise BadPattern("a { is no repetition such as {2} or {2,5}; write \\{ for the sign itself")
        counts = [int(part) for part in numbers]
        if max(counts) > MOST_REPEATS or counts != sorted(counts):
            raise BadPattern(f"a repetition has at most {MOST_REPEATS} times, the smaller number first")
        self.place = end + 1
        return "{" + low + comma + high + "}" + self._lazy(), max(counts) + bool(comma and not high)

    def _lazy(self) -> str:
        return "?" if self._take("?") else ""

    def _single(self, depth: int) -> tuple[str, int]:
        sign = self._read()
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            return self._class(), 1
        if sign == ".":
            return r"[^\n]", 1
        if sign == "\\":
            return self._escape(), 1
        if sign in _SPECIAL:
            raise BadPattern(f"{sign} stands where it means nothing; write \\{sign} for the sign itself")
        return sign, 1

    def _group(self, depth: int) -> tuple[str, int]:
        opened = "("
        if self._take("?"):
            if not self._take(":"):
                raise BadPattern("it looks ahead or back, names a group or sets a flag")
            opened = "(?:"
        else:
            self.groups += 1
        text, size = self.alternatives(depth + 1)
        if not self._take(")"):
            raise BadPattern("a bracket is not closed")
        return f"{opened}{text})", size

    def _escape(self) -> str:
        sign = self._read()
        if sign.lower() in _CLASSES:
            return f"[{'^' if sign.isupper() else ''}{_CLASSES[sign.lower()]}]"
        if sign in _CONTROLS or (sign.isascii() and not sign.isalnum() and not sign.isspace()):
            return f"\\{sign}"
        raise BadPattern(f"\\{sign} is none of \\d \\w \\s \\D \\W \\S \\t \\n and escaped signs")

    def _class(self) -> str:
        """[a-z_] or [^0-9]: each sign by itself, in the spelling that has one meaning."""
        parts = ["^"] if self._take("^") else []
        negated = len(parts)
        while self._next() != "]" or len(parts) == negated:
            sign = self._read()
            if sign == "[" or (sign == "]" and len(parts) == negated):
                raise BadPattern("in [...], write \\[ and \\] for the signs themselves")
            if sign == "\\":
                sign = self._read()
                if sign in _CLASSES:
                    parts.append(_CLASSES[sign])
                    continue
                if sign.isalnum() and sign not in _CONTROLS:
                    raise BadPattern(f"\\{sign} cannot stand in [...]")
                parts.append(f"\\{sign}")
            elif sign == "-":
                at_end = len(parts) == negated or self._next() == "]"
                parts.append("\\-" if at_end else "-")
            elif sign in _SPECIAL or sign in ("&", "~"):
                parts.append(f"\\{sign}")
            else:
                parts.append(sign)
        self._read()
        return f"[{''.join(parts)}]"

    def _next(self) -> str:
        return self.pattern[self.place] if self.place < len(self.pattern) else "\0"

    def _read(self) -> str:
        if self.place >= len(self.pattern):
            raise BadPattern("it ends too early")
        self.place += 1
        return self.pattern[self.place - 1]

    def _take(self, sign: str) -> bool:
        if self._next() == sign:
            self.place += 1
            return True
        return False
