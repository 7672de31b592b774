"""Draws crates as boxes on floors, each above everything that it imports."""

from html import escape
from itertools import pairwise

WIDTH, HEIGHT, GAP, RISE, MARGIN = 150, 44, 26, 84, 24
STYLE = """
svg { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --faint: #59636e; --box: #eef3fa; --line: #6a8fc0; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --box: #1b2636; --line: #5f86bb; }
}
text { font-family: sans-serif; fill: var(--ink); text-anchor: middle; }
.lines { fill: var(--faint); font-size: 11px; }
.paper { fill: var(--paper); }
.box { fill: var(--box); stroke: var(--line); }
.arrow { fill: none; stroke: var(--line); stroke-width: 1.5; marker-end: url(#head); }
.head { fill: var(--line); }
"""

# A crate by its name, or the place where an arrow between two crates passes a floor.
Node = str | tuple[str, str]


def without_implied(house: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that do not follow from others."""

    def below(crate: str) -> set[str]:
        return house[crate].union(*(below(it) for it in house[crate]))

    return sorted((a, b) for a in house for b in house[a] if not any(b in below(it) for it in house[a]))


def places(chains: list[list[Node]], floors: list[list[Node]]) -> dict[Node, float]:
    """The middle of each node: ordered so that it stands near those that it is connected with."""
    beside: dict[Node, list[Node]] = {node: [] for floor in floors for node in floor}
    for chain in chains:
        for upper, lower in pairwise(chain):
            beside[upper].append(lower)
            beside[lower].append(upper)
    middle: dict[Node, float] = {node: 0.0 for node in beside}
    for sweep in range(24):
        for floor in floors if sweep % 2 else reversed(floors):
            floor.sort(key=lambda node: sum(middle[it] for it in beside[node]) / max(len(beside[node]), 1))
            widths = [WIDTH if isinstance(node, str) else 0 for node in floor]
            at = -(sum(widths) + GAP * (len(floor) - 1)) / 2
            for node, width in zip(floor, widths):
                middle[node] = at + width / 2
                at += width + GAP
    left = min(middle[node] for node in middle) - WIDTH / 2 - MARGIN
    return {node: middle[node] - left for node in middle}


def draw(house: dict[str, set[str]], floor_of: dict[str, int], lines: dict[str, str]) -> str:
    """The picture as SVG; `lines` is what stands below a crate's name."""
    floors: list[list[Node]] = [[] for _ in range(max(floor_of.values()) + 1)]
    for crate in sorted(house):
        floors[floor_of[crate]].append(crate)
    chains: list[list[Node]] = []
    for upper, lower in without_implied(house):
        passed = range(floor_of[upper] - 1, floor_of[lower], -1)
        for floor in passed:
            floors[floor].append((f"{upper} {floor}", lower))
        chains.append([upper, *((f"{upper} {floor}", lower) for floor in passed), lower])
    x = places(chains, floors)
    top = {node: MARGIN + RISE * (len(floors) - 1 - at) for at, floor in enumerate(floors) for node in floor}
    width = round(max(x.values()) + WIDTH / 2 + MARGIN)
    height = MARGIN * 2 + RISE * (len(floors) - 1) + HEIGHT
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>The crates of Pinpoint, each above everything that it imports</title>",
        f"<style>{STYLE}</style>",
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker>',
        '<rect class="paper" width="100%" height="100%"/>',
    ]
    for chain in chains:
        path = f"M{x[chain[0]]:g} {top[chain[0]] + HEIGHT}"
        for above, below in pairwise(chain):
            start, end = top[above] + HEIGHT, top[below]
            half = (start + end) / 2
            path += f" C{x[above]:g} {half:g} {x[below]:g} {half:g} {x[below]:g} {end}"
            path += "" if isinstance(below, str) else f" V{end + HEIGHT}"
        out.append(f'<path class="arrow" d="{path}"><title>{chain[0]} imports {chain[-1]}</title></path>')
    for name in sorted(house):
        at, high = x[name], top[name]
        out.append(f'<rect class="box" x="{at - WIDTH / 2:g}" y="{high}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>')
        out.append(f'<text x="{at:g}" y="{high + 19}" font-size="13">{escape(name)}</text>')
        out.append(f'<text class="lines" x="{at:g}" y="{high + 35}">{escape(lines[name])}</text>')
    return "\n".join([*out, "</svg>", ""])
