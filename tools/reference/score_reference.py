#!/usr/bin/env python3
"""Forecast scores in numpy, from their definitions; writes the golden file of the tests of org.isobar.scores.

    python3 tools/reference/score_reference.py            # writes the file
    python3 tools/reference/score_reference.py --check    # exits with 1 if it differs from the computed scores

Fields are given by integer formulas, so that every program has the same bits. Definitions follow WeatherBench 2
(weights, mse, mae, bias, rmse), and the anomaly correlation as the sums of products of anomalies that are not centred.
"""
import json
import pathlib
import sys

import numpy as np

FILE = pathlib.Path(__file__).parents[2] / "app/src/test/resources/org/isobar/scores/golden.json"
TIMES, LEADS, VARIABLES, ROWS, COLUMNS = 4, 3, 2, 5, 12
SMALL_SCALES = 4  # cells: the longest wavelength that counts as small
MODEL, PERSISTENCE, CLIMATOLOGY, TRUTH = 1, 2, 3, 4


def fields(what, time, lead):
    """Fields (variable, row, column) in steps of 1/8, exact in single precision."""
    v, y, x = np.meshgrid(np.arange(VARIABLES), np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    number = 31 * what + 17 * time + 13 * lead + 7 * v + 5 * y * y + 3 * x * x + x * y + what * x + what * time * y
    return (number % 97) / 8.0 - 6 + 100 * v


def latitudes():
    return 90 - 180 * np.arange(ROWS) / (ROWS - 1)


def area_weights(latitude):
    inner = (latitude[:-1] + latitude[1:]) / 2
    bounds = np.concatenate([[90.0], inner, [-90.0]])
    area = np.abs(np.diff(np.sin(np.deg2rad(bounds))))
    return area / area.mean()


def mean(field, weights):
    """Area-weighted mean of each variable."""
    return (field * weights[:, None]).mean(axis=(1, 2))


def forecast(kind, time, lead):
    if kind == "model":
        return fields(MODEL, time, lead)
    if kind == "persistence":
        return fields(PERSISTENCE, time, 0)
    return fields(CLIMATOLOGY, time, lead)


def by_time(kind, lead, weights):
    """Each metric, (time, variable)."""
    table = {name: [] for name in ("mse", "mae", "bias", "acc", "activity")}
    for time in range(TIMES):
        f, t = forecast(kind, time, lead), fields(TRUTH, time, lead)
        for name, value in of_field(f, t, fields(CLIMATOLOGY, time, lead), weights).items():
            table[name].append(value)
    return {name: np.array(values) for name, values in table.items()}


def of_field(forecast, truth, climatology, weights):
    """Each metric of one time, (variable), from fields (variable, row, column) in double precision."""
    error, a, o = forecast - truth, forecast - climatology, truth - climatology
    with np.errstate(invalid="ignore"):
        acc = mean(a * o, weights) / np.sqrt(mean(a * a, weights) * mean(o * o, weights))
    centred = a - mean(a, weights)[:, None, None]
    return {"mse": mean(error ** 2, weights), "mae": mean(np.abs(error), weights), "bias": mean(error, weights),
            "acc": acc, "activity": np.sqrt(mean(centred ** 2, weights))}


def power(field, weights):
    """Zonal power spectrum of each variable, (variable, wavenumber), by a discrete Fourier transform written out."""
    columns = field.shape[-1]
    k = np.arange(columns // 2 + 1)
    wave = np.exp(-2j * np.pi * np.outer(np.arange(columns), k) / columns)
    squared = np.abs(field @ wave / columns) ** 2
    double = np.where((k == 0) | (2 * k == columns), 1, 2)
    return (squared * weights[:, None]).mean(axis=1) * double


def scores():
    weights = area_weights(latitudes())
    table = {(kind, lead): by_time(kind, lead, weights)
             for kind in ("model", "persistence", "climatology") for lead in range(1, LEADS + 1)}
    return averages(table, [f"v{v}" for v in range(VARIABLES)])


def averages(table, variables):
    """The lines of all forecasts: averages over times of metrics (time, variable) by (kind, lead)."""
    lines = []
    for (kind, lead), metrics in table.items():
        rmse = np.sqrt(metrics["mse"].mean(axis=0))
        reference = {name: np.sqrt(table[name, lead]["mse"].mean(axis=0)) for name in ("persistence", "climatology")}
        values = {name: series.mean(axis=0) for name, series in metrics.items()}
        with np.errstate(invalid="ignore", divide="ignore"):
            values |= {"rmse": rmse, "skill": 1 - rmse / reference["persistence"],
                       "skill_climatology": 1 - rmse / reference["climatology"]}
        if kind == "model":
            values["rmse_minus_persistence"] = rmse - reference["persistence"]
        for name, value in values.items():
            lines += [{"forecast": kind, "variable": variable, "lead_steps": lead, "metric": name,
                       "value": float(value[v]) if np.isfinite(value[v]) else None}
                      for v, variable in enumerate(variables)]
    return lines


def spectra():
    weights = area_weights(latitudes())
    lines = []
    for lead in range(1, LEADS + 1):
        model = np.mean([power(fields(MODEL, time, lead), weights) for time in range(TIMES)], axis=0)
        truth = np.mean([power(fields(TRUTH, time, lead), weights) for time in range(TIMES)], axis=0)
        small = np.arange(COLUMNS // 2 + 1) * SMALL_SCALES >= COLUMNS
        for v in range(VARIABLES):
            lines.append({"variable": f"v{v}", "lead_steps": lead, "forecast": model[v].tolist(),
                          "truth": truth[v].tolist(), "ratio": float(model[v, small].sum() / truth[v, small].sum())})
    return lines


def agree(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(agree(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(agree, a, b))
    return abs(a - b) <= 1e-12 * max(1, abs(a)) if isinstance(a, float) and isinstance(b, float) else a == b


def main():
    golden = {"weights": area_weights(latitudes()).tolist(), "scores": scores(), "spectra": spectra()}
    if sys.argv[1:] == ["--check"]:
        if not agree(golden, json.loads(FILE.read_text())):
            sys.exit(f"{FILE} differs")
    else:
        rows = {name: ",\n    ".join(json.dumps(line) for line in lines) for name, lines in golden.items()}
        FILE.write_text("{\n  " + ",\n  ".join(f'"{name}": [\n    {text}\n  ]' for name, text in rows.items()) + "\n}\n")


if __name__ == "__main__":
    main()
