#!/usr/bin/env python3
"""Measures h5py reading samples from HDF5 files, to compare with Isobar's data loader.

    loader_h5py.py make DIR                          writes chunked and compressed copies of DIR/contiguous
    loader_h5py.py measure DIR --json FILE [--rehearse]

A sample is two frames, (channels, latitudes, longitudes) in single precision. It is read in two ways: into a reused
buffer, and like the tutorial: both frames into new arrays, cropped, then (x - mean) / std. FILE has the format of
`isobar bench loader`.
"""
import argparse
import glob
import json
import os
import platform
import secrets
import shutil
import time

import h5py
import numpy

PASSES = {"contiguous": 5, "chunked": 2, "gzip": 2}  # after one warmup pass
COMPRESSED_SAMPLES = 4  # per pass, because decompression is slow


def paths(directory, layout):
    return sorted(glob.glob(os.path.join(directory, layout, "train" if layout == "contiguous" else "", "*.h5")))


def make(directory):
    """Writes each layout under a temporary name and renames it when it is complete."""
    for layout, compression in (("chunked", None), ("gzip", "gzip")):
        whole = os.path.join(directory, layout)
        if os.path.isdir(whole):
            continue
        shutil.rmtree(whole + ".tmp", ignore_errors=True)
        os.makedirs(whole + ".tmp")
        for source in paths(directory, "contiguous"):
            with h5py.File(source, "r") as file:
                fields = file["fields"][:]
            with h5py.File(os.path.join(whole + ".tmp", os.path.basename(source)), "w") as file:
                file.create_dataset("fields", data=fields, chunks=(1, 1, *fields.shape[2:]), compression=compression)
        os.rename(whole + ".tmp", whole)


def spread(values):
    """Quantiles with linear interpolation, as in numpy and Isobar."""
    low, lower, median, upper, high = numpy.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
    return dict(count=len(values), median=median, low=low, high=high, lower_quartile=lower, upper_quartile=upper)


class Reused:
    """Reads frames into a reused buffer."""
    name = "h5py into a reused buffer"

    def __init__(self, fields, means, stds):
        self.fields = fields
        self.buffer = numpy.empty((2, *fields.shape[1:]), numpy.float32)

    def read(self, i):
        self.fields.read_direct(self.buffer, numpy.s_[i:i + 2], numpy.s_[0:2])


class Tutorial:
    """Reads like the tutorial's __getitem__, without converting the arrays to tensors."""
    name = "the tutorial's access"

    def __init__(self, fields, means, stds):
        self.fields, self.means, self.stds = fields, means, stds

    def read(self, i):
        height, width = self.fields.shape[2:]
        return tuple((self.fields[j, :, 0:height, 0:width] - self.means) / self.stds for j in (i, i + 1))


def measure(directory, json_file, rehearse):
    stats = os.path.join(directory, "contiguous", "stats")
    means, stds = (numpy.load(os.path.join(stats, name))[0] for name in ("global_means.npy", "global_stds.npy"))
    rates, sample_bytes = [], 0
    for layout, passes in PASSES.items():
        for path in paths(directory, layout)[:1]:
            with h5py.File(path, "r") as file:
                fields = file["fields"]
                sample_bytes = 2 * fields[0].nbytes
                ways = [way(fields, means, stds) for way in (Reused, Tutorial)]
                samples = min(len(fields) - 1, COMPRESSED_SAMPLES if layout == "gzip" else len(fields))
                times = measured(ways, samples, passes)
                rates += [dict(layout=layout, way=way.name, threads=1, bytes=None if rehearse else
                               spread([samples * sample_bytes / lap for lap in laps]))
                          for way, laps in zip(ways, times)]
    facts = {"python": platform.python_version(), "h5py": h5py.__version__, "numpy": numpy.__version__,
             "hdf5": h5py.version.hdf5_version}
    temporary = f"{json_file}.{secrets.token_hex(8)}.tmp"
    with open(temporary, "x") as file:  # follows no link
        json.dump(dict(program="h5py", sample_bytes=sample_bytes, rates=rates, facts=facts), file, indent=2)
    os.replace(temporary, json_file)


def measured(ways, samples, passes):
    """Seconds of each pass over all samples in random order; the ways alternate."""
    order = numpy.random.default_rng(1).permutation(samples)
    times = [[] for _ in ways]
    for number in range(passes + 1):
        for way, laps in zip(ways, times):
            start = time.perf_counter()
            for i in order:
                way.read(i)
            if number > 0:
                laps.append(time.perf_counter() - start)
    return times


def main():
    parser = argparse.ArgumentParser(description="Isobar's loader benchmark with h5py.")
    parser.add_argument("command", choices=("make", "measure"))
    parser.add_argument("directory")
    parser.add_argument("--json")
    parser.add_argument("--rehearse", action="store_true", help="record no times")
    args = parser.parse_args()
    if args.command == "make":
        make(args.directory)
    else:
        measure(args.directory, args.json, args.rehearse)


if __name__ == "__main__":
    main()
