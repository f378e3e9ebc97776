#!/usr/bin/env python3
"""Scores the forecasts of a Zarr store against the data, and compares them with those of `isobar evaluate`.

    python3 tools/reference/forecast_scores.py STORE DATA CLIMATOLOGY --compare SCORES     # SCORES: its --out
    python3 tools/reference/forecast_scores.py STORE DATA CLIMATOLOGY --write FILE.json    # a golden file of the tests

STORE is what `isobar forecast` has written, from the same initial times. DATA is a directory of years, YYYY.npy or
YYYY.h5 (frame, channel, row, column). CLIMATOLOGY is a mean over time (1, channel, row, column), or the fields of each
hour of day and day of year (hour, 366, channel, row, column), .npy or .h5. Needs numpy alone for .npy, h5py for .h5.

The store is read here by the specification of Zarr, version 2; scores are those of score_reference.py. With --compare,
exits with 1 if a number differs by more than 1e-5 of its scale.
"""
import argparse
import csv
import datetime
import json
import pathlib
import sys

import numpy as np

from score_reference import SMALL_SCALES, area_weights, averages, of_field, power

TOLERANCE = 1e-5
FRAME_HOURS = 6


class Store:
    """A group of arrays in Zarr's version 2 without compression."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        assert json.loads((self.path / ".zgroup").read_text()) == {"zarr_format": 2}

    def variables(self):
        """Names of the arrays with the dimensions of forecasts, in the order of the consolidated metadata."""
        metadata = json.loads((self.path / ".zmetadata").read_text())["metadata"]
        return [name.removesuffix("/.zattrs") for name, attributes in metadata.items()
                if len(attributes.get("_ARRAY_DIMENSIONS", [])) == 4]

    def read(self, name, index=None):
        """A whole array of one chunk, or the chunk of an index of the first dimensions."""
        array = json.loads((self.path / name / ".zarray").read_text())
        assert array["zarr_format"] == 2 and array["order"] == "C"
        assert array["compressor"] is None and not array["filters"]
        chunk = ".".join(map(str, index or [0] * len(array["shape"])))
        return np.frombuffer((self.path / name / chunk).read_bytes(), array["dtype"]).reshape(array["chunks"])


class Data:
    """The frames of years."""

    def __init__(self, path, channels, rows, columns):
        self.path, self.window, self.years = pathlib.Path(path), np.s_[:channels, :rows, :columns], {}

    def at(self, time):
        frame, rest = divmod(time - datetime.datetime(time.year, 1, 1), datetime.timedelta(hours=FRAME_HOURS))
        assert not rest, time
        if time.year not in self.years:
            self.years[time.year] = open_array(next(self.path.glob(f"*{time.year}.*")))
        return self.years[time.year][frame][self.window].astype(float)


class Climatology:
    """The climatology of a time: the same at all times, or by hour of day and day of year."""

    def __init__(self, path, channels, rows, columns):
        self.fields, self.window = open_array(pathlib.Path(path)), np.s_[:channels, :rows, :columns]

    def at(self, time):
        if self.fields.ndim == 4:
            return self.fields[0][self.window].astype(float)
        hours = 24 // self.fields.shape[0]
        day = (time - datetime.datetime(time.year, 1, 1)).days
        return self.fields[time.hour // hours, day][self.window].astype(float)


def open_array(path):
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r")
    import h5py  # only for HDF5
    file = h5py.File(path, "r")
    return file[next(iter(name for name in file if file[name].ndim >= 4))]


def score(store, data_path, climatology_path):
    """The lines of scores, and the spectra by (variable, lead): (forecast, truth)."""
    names, latitude = store.variables(), store.read("latitude")
    since = attributes(store, "time")["units"].removeprefix("hours since ")
    times = [datetime.datetime.fromisoformat(since) + datetime.timedelta(hours=int(h)) for h in store.read("time")]
    leads = store.read("prediction_timedelta")
    grid = len(names), len(latitude), len(store.read("longitude"))
    data, climatology, weights = Data(data_path, *grid), Climatology(climatology_path, *grid), area_weights(latitude)
    table = {(kind, lead): {} for kind in ("model", "persistence", "climatology") for lead in range(1, len(leads) + 1)}
    spectra = {}
    for i, time in enumerate(times):
        initial = data.at(time)
        for lead, hours in enumerate(leads, 1):
            valid = time + datetime.timedelta(hours=int(hours))
            truth, normal = data.at(valid), climatology.at(valid)
            model = np.stack([store.read(name, (i, lead - 1, 0, 0))[0, 0] for name in names]).astype(float)
            for kind, forecast in (("model", model), ("persistence", initial), ("climatology", normal)):
                for name, value in of_field(forecast, truth, normal, weights).items():
                    table[kind, lead].setdefault(name, []).append(value)
            pair = np.stack([power(model, weights), power(truth, weights)], axis=1)  # (variable, 2, wavenumber)
            spectra[lead] = spectra.get(lead, 0) + pair / len(times)
    table = {key: {name: np.array(values) for name, values in metrics.items()} for key, metrics in table.items()}
    lines = averages(table, names)
    for lead, pairs in spectra.items():
        small = np.arange(pairs.shape[-1]) * SMALL_SCALES >= grid[2]
        ratio = pairs[:, 0, small].sum(axis=1) / pairs[:, 1, small].sum(axis=1)
        lines += [{"forecast": "model", "variable": name, "lead_steps": lead, "metric": "small_scale_power_ratio",
                   "value": float(ratio[v])} for v, name in enumerate(names)]
    return lines, {(name, lead): pairs[v] for lead, pairs in spectra.items() for v, name in enumerate(names)}


def attributes(store, name):
    return json.loads((store.path / name / ".zattrs").read_text())


def key(line):
    return line["forecast"], line["variable"], line["lead_steps"], line["metric"]


def scale(line, values):
    """What an error is relative to: the number itself; for differences, what they are differences of."""
    forecast, variable, lead, metric = key(line)
    if metric in ("acc", "skill", "skill_climatology"):
        return 1
    whole = {"bias": "mae", "rmse_minus_persistence": "rmse"}.get(metric, metric)
    return abs(values[forecast, variable, lead, whole])


def compare(lines, spectra, directory):
    """Exits with 1 unless the files of the directory have the same numbers."""
    results = json.loads((directory / "scores.json").read_text())
    values, others = ({key(line): line["value"] for line in these} for these in (lines, results["scores"]))
    missing = [name for name in values.keys() ^ others.keys() if name[3] != "rmse_minus_second_model"]
    if missing:
        sys.exit(f"only one of the two has {missing[:3]} ({len(missing)} in all)")
    worst = 0
    for line in lines:
        a, b = line["value"], others[key(line)]
        if (a is None) != (b is None):
            sys.exit(f"{key(line)} is {b}, expected {a}")
        if a is not None and a != b:
            worst = max(worst, check(key(line), a, b, scale(line, values)))
    with open(directory / "spectra.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(pair.shape[1] for pair in spectra.values())
    for row in rows:
        pair = spectra[row["variable"], int(row["lead_steps"])]
        for side, power_of in zip(("forecast", "truth"), pair):
            name = row["variable"], row["lead_steps"], row["wavenumber"], side
            worst = max(worst, check(name, power_of[int(row["wavenumber"])], float(row[side]), power_of[1:].max()))
    print(f"{len(lines)} scores and {2 * len(rows)} powers agree: the largest difference is {worst:.1e} of the scale")


def check(name, a, b, size):
    difference = abs(a - b) / size if size else float("inf")
    if not difference <= TOLERANCE:
        sys.exit(f"{name} is {b}, expected {a}")
    return difference


def main():
    parser = argparse.ArgumentParser()
    for name in ("store", "data", "climatology"):
        parser.add_argument(name)
    parser.add_argument("--compare", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    lines, spectra = score(Store(options.store), options.data, options.climatology)
    if options.write:
        rows = sorted(f"{json.dumps(' '.join(map(str, key(line))))}: {json.dumps(line['value'])}" for line in lines)
        options.write.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    if options.compare:
        compare(lines, spectra, options.compare)


if __name__ == "__main__":
    main()
