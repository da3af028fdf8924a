"""The house as a picture, made from the imports: ``python tools/draw_house.py`` writes docs/images/house.svg.

A room stands above all rooms that it imports. A line joins two rooms if one imports the other and no third lies on the
way; the words in a box are its wings. ``tests/test_house_picture.py`` fails while the picture says anything else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "hubbub"
PICTURE = ROOT / "docs" / "images" / "house.svg"
WIDTH, MARGIN, GAP, BAND = 960, 16, 32, 40  # pixels: BAND is what lies between two floors
LINE, LETTER = 15, 6.6  # a line of text, and a letter of it


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(draw(), encoding="utf-8")


def draw() -> str:
    """The picture as SVG."""
    edges = import_edges()
    boxes = place_boxes(floors(edges))
    height = max(y + h for _, y, _, h in boxes.values()) + MARGIN
    lines = [_line(boxes[upper], boxes[lower]) for upper in sorted(edges) for lower in direct_imports(upper, edges)]
    shapes = [_box(room, *boxes[room]) for room in sorted(boxes)]
    return "\n".join([_head(height), *lines, *shapes, "</svg>", ""])


def import_edges() -> dict[str, set[str]]:
    """room -> the rooms that any of its modules imports, also inside functions."""
    rooms = sorted(path.name for path in SRC.iterdir() if (path / "__init__.py").is_file())
    return {room: {name for path in (SRC / room).rglob("*.py") for name in _imported(path)} - {room} for room in rooms}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "hubbub":
            yield from (alias.name for alias in node.names if (SRC / alias.name).is_dir())
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hubbub."):
            yield str(node.module).split(".")[1]


def floors(edges: dict[str, set[str]]) -> list[list[str]]:
    """Rooms by the longest way up to a room that nobody imports, the lowest floor first."""
    depths: dict[str, int] = {}

    def depth(room: str) -> int:
        if room not in depths:
            depths[room] = max((depth(upper) + 1 for upper in edges if room in edges[upper]), default=0)
        return depths[room]

    return [sorted(r for r in edges if depth(r) == level) for level in reversed(range(max(map(depth, edges)) + 1))]


def direct_imports(room: str, edges: dict[str, set[str]]) -> list[str]:
    """The rooms that ``room`` imports and does not reach by way of another."""
    behind: set[str] = set()
    for lower in edges[room]:
        behind |= _reached(lower, edges)
    return sorted(edges[room] - behind)


def _reached(room: str, edges: dict[str, set[str]]) -> set[str]:
    return edges[room].union(*(_reached(lower, edges) for lower in edges[room]))


def place_boxes(levels: list[list[str]]) -> dict[str, tuple[float, float, float, float]]:
    """room -> (x, y, width, height); the highest floor on top, each floor in the middle."""
    boxes, y = {}, float(MARGIN)
    for level in reversed(levels):
        sizes = {room: _size(room) for room in level}
        x = (WIDTH - sum(width for width, _ in sizes.values()) - GAP * (len(level) - 1)) / 2
        for room, (width, height) in sizes.items():
            boxes[room] = (x, y, width, height)
            x += width + GAP
        y += max(height for _, height in sizes.values()) + BAND
    return boxes


def _size(room: str) -> tuple[float, float]:
    words = [room, *wings(room)]
    return max(map(len, words)) * LETTER + 26, len(words) * LINE + 14


def wings(room: str) -> list[str]:
    """The folders inside of a room."""
    return sorted(path.name for path in (SRC / room).iterdir() if (path / "__init__.py").is_file())


def _head(height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" '
        'font-size="12" role="img">\n<title>The rooms of the house, each above the rooms that it imports</title>\n'
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>'
    )


def _line(upper: tuple[float, ...], lower: tuple[float, ...]) -> str:
    x1, y1 = upper[0] + upper[2] / 2, upper[1] + upper[3]
    x2, y2 = lower[0] + lower[2] / 2, lower[1]
    bend = (y2 - y1) / 2
    path = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"
    return f'<path d="{path}" fill="none" stroke="#8a9bb0" stroke-width="1.2"/>'


def _box(room: str, x: float, y: float, width: float, height: float) -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}"'
    box = f'<rect {place} rx="5" fill="#eef3f9" stroke="#42607f"/>'
    texts = [_text(room, x + width / 2, y + LINE + 3, 'font-weight="bold" fill="#16324f"')]
    texts += [_text(w, x + width / 2, y + (i + 2) * LINE + 3, 'fill="#42607f"') for i, w in enumerate(wings(room))]
    return "\n".join([box, *texts])


def _text(words: str, x: float, y: float, style: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" {style}>{escape(words)}</text>'


if __name__ == "__main__":
    main()
