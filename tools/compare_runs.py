#!/usr/bin/env python3
"""Draws the losses of runs, epoch by epoch, from their logs: validation losses, or training losses with :train.

Usage: tools/compare_runs.py OUT.svg LABEL[:train]=out.log...

docs/tutorial/batch-size.svg is of
    tools/compare_runs.py docs/tutorial/batch-size.svg 'batch 4, lr 0.001=example_logs/fp32/out.log' \
        'batch 32, lr 0.001=example_logs/b32/out.log' 'batch 32, lr 0.00283 (x sqrt 8)=example_logs/b32_sqrt/out.log' \
        'batch 32, lr 0.008 (x 8)=example_logs/b32_linear/out.log' 'batch 4, lr 0.008=example_logs/lr8/out.log'
and docs/tutorial/overfit.svg of
    tools/compare_runs.py docs/tutorial/overfit.svg validation=example_logs/lesson_overfit/out.log \
        training:train=example_logs/lesson_overfit/out.log
"""
import re
import sys

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#b8860b", "#cc79a7", "#8a2be2", "#666666", "#56b4e9"]
DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 2", "12 4", "6 2 2 2"]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LEGEND = 760, 340, 56, 30, 40, 250


def losses(log, kind):
    with open(log) as lines:
        return [float(match.group(1)) for match in re.finditer(f"Avg {kind} loss=([0-9.eE+-]+)", lines.read())]


def picture(runs, title):
    epochs = max(len(values) for _, values in runs)
    highest = max(max(values) for _, values in runs) * 1.05
    right = WIDTH - LEGEND

    def x(epoch):
        return LEFT + 20 + (right - LEFT - 40) * (epoch - 1) / max(1, epochs - 1)

    def y(loss):
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * loss / highest

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="sans-serif" font-size="12" fill="#777">',
             f'<text x="{LEFT}" y="16">{title}</text>',
             f'<text x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">epoch</text>',
             f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{right}" fill="none" stroke="#777"/>']
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5) if highest / s <= 8)
    for tick in range(int(highest / step) + 1):
        parts.append(f'<path d="M{LEFT - 4} {y(tick * step):.1f}H{right}" stroke="#777" stroke-opacity="0.3"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(tick * step) + 4:.1f}" text-anchor="end">{tick * step:g}</text>')
    every = max(1, epochs // 10)
    for epoch in range(1, epochs + 1):
        if epoch % every == 0 or epoch == 1:
            parts.append(f'<text x="{x(epoch):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{epoch}</text>')
    for index, (label, values) in enumerate(runs):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        points = " ".join(f"{x(epoch + 1):.1f},{y(value):.1f}" for epoch, value in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" '
                     f'stroke-dasharray="{dash}"/>')
        if epochs <= 12:
            parts += [f'<circle cx="{x(epoch + 1):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>'
                      for epoch, value in enumerate(values)]
        row = TOP + 14 + 34 * index
        parts.append(f'<path d="M{right + 14} {row - 4}h26" stroke="{colour}" stroke-width="2" '
                     f'stroke-dasharray="{dash}"/>')
        parts.append(f'<text x="{right + 46}" y="{row}">{label}</text>')
        parts.append(f'<text x="{right + 46}" y="{row + 14}">last {values[-1]:.4f}</text>')
    return "\n".join(parts + ["</svg>\n"])


def main():
    out, arguments = sys.argv[1], sys.argv[2:]
    runs = []
    for argument in arguments:
        label, log = argument.rsplit("=", 1)
        runs.append((label.removesuffix(":train"), losses(log, "train" if label.endswith(":train") else "val")))
    with open(out, "w") as file:
        file.write(picture([(label, values) for label, values in runs if values],
                           "Loss of each epoch" if ":train=" in " ".join(arguments) else "Validation loss of each epoch"))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
