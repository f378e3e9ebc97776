#!/usr/bin/env python3
"""Plot variables of one frame of a data set, and one variable a day later.

Usage: tools/plot_synthetic.py FILE.h5 FRAME OUT.png   (needs h5py, numpy, matplotlib and Pillow)

docs/images/synthetic.png shows frame 100 of valid/1980.h5 from
    ./isobar synthesize --data_dir=DIR --height=181 --width=360 --train_years=1 --test_years=0 --samples_per_year=120
"""
import io
import sys

import h5py
import matplotlib
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FRAMES_PER_DAY = 4
PANELS = [("mslp", 0, "RdYlBu_r"), ("mslp", 1, "RdYlBu_r"), ("u10", 0, "RdBu_r"), ("t2m", 0, "turbo"),
          ("t850", 0, "turbo"), ("z500", 0, "turbo"), ("r850", 0, "YlGnBu"), ("tcwv", 0, "YlGnBu")]


def draw(fields, frame):
    names = [name.decode() for name in fields.attrs["channels"]]
    units = [unit.decode() for unit in fields.attrs["units"]]
    figure, axes = plt.subplots(2, 4, figsize=(18, 5.2), constrained_layout=True)
    for axis, (name, days, colours) in zip(axes.flat, PANELS):
        channel = names.index(name)
        image = axis.imshow(fields[frame + days * FRAMES_PER_DAY, channel], extent=(0, 360, -90, 90),
                            cmap=colours, aspect="auto")
        axis.set_title(f"{name} ({units[channel]})" + (", a day later" if days else ""), fontsize=11)
        axis.set_xticks(range(0, 361, 90))
        axis.set_yticks(range(-90, 91, 45))
        figure.colorbar(image, ax=axis, shrink=0.9)
    return figure


def main():
    path, frame, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with h5py.File(path) as file:
        figure = draw(file["fields"], frame)
    png = io.BytesIO()
    figure.savefig(png, dpi=64)
    Image.open(png).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(out, optimize=True)


if __name__ == "__main__":
    main()
