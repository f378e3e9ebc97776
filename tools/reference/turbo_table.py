"""Prints the 256 colours of the colour map "turbo" (A. Mikhailov, 2019) from matplotlib, one rrggbb per line.

    python3 tools/reference/turbo_table.py > app/src/main/resources/org/isobar/metrics/turbo.txt
"""

import matplotlib
import numpy

for red, green, blue, _ in matplotlib.colormaps["turbo"](numpy.arange(256), bytes=True):
    print(f"{red:02x}{green:02x}{blue:02x}")
