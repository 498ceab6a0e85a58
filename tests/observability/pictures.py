"""Pictures of panels as SVG, drawn from what Prometheus answered. Standard library only."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT = 380, 200
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 30, 44
COLOURS = ("#2f6fb2", "#d9822b", "#3a8f57", "#b5413a", "#7a5aa6", "#8a8a8a", "#c2a300", "#2b9aa0")
COLUMNS = 2
SHOWN = 6

Series = tuple[str, Sequence[tuple[float, float]]]


def dashboard_picture(title: str, panels: Sequence[tuple[str, str, Sequence[Series]]]) -> str:
    """One SVG with a chart for each panel.

    Args:
        title: of the picture.
        panels: title, unit and series of each.
    """
    rows = -(-len(panels) // COLUMNS)
    width, height = COLUMNS * WIDTH, rows * HEIGHT + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="10">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="10" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    for index, (name, unit, series) in enumerate(panels):
        x, y = index % COLUMNS * WIDTH, index // COLUMNS * HEIGHT + 30
        parts.append(f'<g transform="translate({x},{y})">{_chart(name, unit, series)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def series_of(answer: Sequence[Mapping[str, Any]], legend: str) -> list[Series]:
    """The series of a range query, named as Grafana would name them."""
    found: list[Series] = []
    for item in answer:
        name = legend
        for label, value in item["metric"].items():
            name = name.replace("{{" + label + "}}", value)
        found.append((name, [(float(at), float(value)) for at, value in item["values"]]))
    return found


def _chart(title: str, unit: str, series: Sequence[Series]) -> str:
    points = [point for _, line in series for point in line]
    top = max([value for _, value in points] + [1e-9]) * 1.1
    first, last = min(at for at, _ in points), max(at for at, _ in points)
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(at: float, value: float) -> str:
        x = LEFT + inner_width * (at - first) / max(last - first, 1)
        return f"{x:.1f},{TOP + inner_height * (1 - value / top):.1f}"

    parts = [f'<text x="8" y="16" font-size="11" font-weight="bold">{escape(title)}</text>']
    for step in (0, 0.5, 1):
        y = TOP + inner_height * (1 - step)
        parts.append(f'<path d="M{LEFT},{y:.1f} h{inner_width}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y + 3:.1f}" text-anchor="end">{_short(top * step)}</text>')
    for index, (_, line) in enumerate(series):
        drawn = " ".join(place(at, value) for at, value in line)
        colour = COLOURS[index % len(COLOURS)]
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    for index, (name, _) in enumerate(series[:SHOWN]):
        x, y = 8 + index % 3 * 124, HEIGHT - 26 + index // 3 * 13
        parts.append(f'<rect x="{x}" y="{y - 7}" width="8" height="8" fill="{COLOURS[index % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 11}" y="{y}">{escape(name[:19])}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="16" text-anchor="end" fill="#777777">{escape(unit)}</text>')
    return "".join(parts)


def _short(value: float) -> str:
    for factor, mark in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g}{mark}"
    return f"{value:.3g}"
