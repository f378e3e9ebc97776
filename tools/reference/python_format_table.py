"""Prints the table of PythonFormatTest: the bits of a double, its repr and its '%f' in Python.

    python3 tools/reference/python_format_table.py > app/src/test/resources/org/isobar/telemetry/python_format.tsv
"""

import random
import struct

EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1 / 3, 2 / 3, 100.0, 123456.0, 1234567.0, 1e15, 1e16, 1e17, 9999999999999998.0,
    123456789012345680.0, 1e22, 1e23, 2e23, 9.5e-4, 5e-4, 1e-3, 1e-4, 1e-5, 0.00012, 0.0001234, 9.999e-5, 1e-7, 5e-324,
    1e-323, 1.5e-323, 2e-323, 3e-323, 4.4e-323, 1e-322, 2.2250738585072014e-308, 1.7976931348623157e308, 1e300, 1e-300,
    1e100, 1e-100, 0.0000005, 0.0000015, 0.0000025, 0.5000005, 1.0000005, 2.5e-7, 0.4210963547229767,
    4.699830055236816, 10.4781494140625, 43.8121337890625, 44.92926025390625, 61.425346, 4294967296.0,
    9007199254740993.0, 1e21, 123e-7, float("inf"), float("-inf"), float("nan"),
]


def row(x):
    (bits,) = struct.unpack("<Q", struct.pack("<d", x))
    return "%016x\t%r\t%f" % (bits, x, x)


random.seed(2)
samples = list(EDGES)
samples += [random.uniform(0, 1) for _ in range(60)]
samples += [random.uniform(0, 100) for _ in range(60)]
samples += [random.randrange(1, 10**9) / 2**30 for _ in range(60)]  # bytes as GB
samples += [struct.unpack("<f", struct.pack("<f", random.gauss(0, 1)))[0] for _ in range(60)]  # float32 values
samples += [random.randrange(1, 100) * 10.0 ** random.randrange(-20, 20) for _ in range(100)]
samples += [random.randrange(0, 4_000_000) / 2**20 for _ in range(60)]  # ties of '%f'
samples += [random.choice([-1, 1]) * 2.0 ** random.uniform(-60, 60) for _ in range(100)]
samples += [struct.unpack("<d", struct.pack("<Q", random.randrange(1, 2000)))[0] for _ in range(20)]  # subnormal
print("\n".join(row(x) for x in samples))
