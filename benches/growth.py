#!/usr/bin/env python3
"""Draws how costs grow: of `encamp sim load-shedding` and `encamp sim c1m` with the number of nodes, of `encamp sim plan`
with the number of allocations.

    encamp sim load-shedding -nodes 500 -json >> growth.jsonl      (and so on: 1000, 5000, 10000; the same for c1m)
    benches/growth.py growth.jsonl > docs/dev/growth.svg
    encamp sim plan -nodes 500 -allocs 10000 -json >> plan.jsonl   (and so on, up to 50000 and 10000000)
    benches/growth.py plan.jsonl > docs/dev/memory.svg

A panel of a server has the cost per evaluation (load-shedding: of those that were made; c1m: per allocation, its
evaluations have a thousand each) in server processor time; a panel of `plan` the memory per allocation or the time of a
plan. The dashed line through the first point grows as the log of the count; that of memory is level.
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 240, 70, 50, 110
INK, GRID, LINE, LIMIT = "#222", "#ddd", "#1565c0", "#c62828"


def shedding(run):
    step = run["steps"][0]
    return step["server_cpu_seconds"] * 1e6 / max(step["evaluations_pending"], 1)


def c1m(run):
    return run["steps"][0]["server_cpu_seconds"] * 1e6 / max(run["allocations"], 1)


# Scenario, title, cost, the count that grows, and how the limit grows with it.
PANELS = [
    ("load-shedding", "load-shedding, step enable: µs per evaluation made", shedding, "nodes", math.log),
    ("c1m", "c1m, step place: µs per allocation", c1m, "nodes", math.log),
    ("plan", "memory per allocation, bytes", lambda run: run["bytes_per_allocation"], "allocations", lambda _: 1),
    ("plan", "a plan of 100 allocations, ms", lambda run: run["plan_ms"], "allocations", math.log),
]


def panel(x, title, points, axis, growth):
    out = [f'<text x="{x}" y="{TOP - 18}" font-weight="bold">{title}</text>']
    low, high = math.log(points[0][0]), math.log(points[-1][0])
    limits = [points[0][1] * growth(n) / growth(points[0][0]) for n, _ in points]
    top = max(max(v for _, v in points), max(limits)) * 1.15
    at = lambda n, v: (x + (math.log(n) - low) / max(high - low, 1e-9) * WIDTH, TOP + HEIGHT * (1 - v / top))
    for i in range(5):
        v = top * i / 4
        y = at(points[0][0], v)[1]
        out.append(f'<line x1="{x}" y1="{y:.1f}" x2="{x + WIDTH}" y2="{y:.1f}" stroke="{GRID}"/>')
        out.append(f'<text x="{x - 8}" y="{y + 4:.1f}" text-anchor="end">{v:.3g}</text>')
    for (n, _), limit in zip(points, limits):
        px = at(n, limit)[0]
        out.append(f'<text x="{px:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{n:,}</text>')
    line = lambda values: " ".join(f"{a:.1f},{b:.1f}" for a, b in values)
    dashed = line(at(n, limit) for (n, _), limit in zip(points, limits))
    out.append(f'<polyline points="{dashed}" fill="none" stroke="{LIMIT}" stroke-dasharray="5 4"/>')
    out.append(f'<polyline points="{line(at(n, v) for n, v in points)}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    for n, v in points:
        px, py = at(n, v)
        out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{LINE}"/>')
        out.append(f'<text x="{px:.1f}" y="{py - 10:.1f}" text-anchor="middle">{v:.3g}</text>')
    out.append(f'<text x="{x + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">{axis} (log scale)</text>')
    return out


def main():
    runs = [json.loads(line) for path in sys.argv[1:] for line in open(path) if line.strip()]
    body, x = [], LEFT
    for scenario, title, cost, axis, growth in PANELS:
        best = {}
        for run in (r for r in runs if r["scenario"] == scenario):
            best[run[axis]] = min(cost(run), best.get(run[axis], math.inf))
        if len(best) >= 2:
            body += panel(x, title, sorted(best.items()), axis, growth)
            x += WIDTH + GAP
    if not body:
        sys.exit("give it the JSON lines of at least two runs of a scenario with different counts")
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{x - GAP + 40}" height="{TOP + HEIGHT + 60}" '
          f'font-family="sans-serif" font-size="12" fill="{INK}">')
    print('<rect width="100%" height="100%" fill="white"/>')
    print("\n".join(body))
    print("</svg>")


main()
