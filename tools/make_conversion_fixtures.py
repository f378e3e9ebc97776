#!/usr/bin/env python3
"""Write small stores of weather data, and NumPy's own conversion of each, for the tests of `data.convert`.

Usage: /usr/bin/python3 tools/make_conversion_fixtures.py   (needs xarray, netCDF4, h5py and numpy, Debian's
python3-xarray, python3-netcdf4 and python3-h5py; writes app/src/test/resources/org/isobar/data/convert)

Each store is a directory NAME, and NAME.npy has the fields (time, channel, lat, lon) that it must convert to: packed
values are unpacked in double precision and rounded once to float32.
"""
import json
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import xarray as xr

OUT = Path(__file__).resolve().parent.parent / "app/src/test/resources/org/isobar/data/convert"
TIMES, LEVELS = 6, (1000, 850, 500)
LAT = np.linspace(90, -90, 7)
LON = np.arange(0, 360, 45.0)
RANDOM = np.random.default_rng(18)
HOURS = np.arange(TIMES) * 6
START = np.datetime64("2020-01-01T00:00:00")


def field(mean, spread, *extents):
    return (mean + spread * RANDOM.standard_normal(extents)).astype("f4")


def save(name, *channels):
    np.save(OUT / f"{name}.npy", np.stack([np.asarray(channel, "f4") for channel in channels], axis=1))


def coordinates(time, level=None, lat=LAT, lon=LON):
    found = {time: START + HOURS.astype("m8[h]").astype("m8[ns]"),
             "latitude": ("latitude", lat, {"units": "degrees_north", "standard_name": "latitude"}),
             "longitude": ("longitude", lon, {"units": "degrees_east", "standard_name": "longitude"})}
    if level:
        found[level] = (level, np.array(LEVELS, "f8"), {"units": "hPa", "positive": "down"})
    return found


def directory(name):
    (OUT / name).mkdir(parents=True, exist_ok=True)
    return OUT / name


def copernicus():
    """The Copernicus store since 2024: NetCDF-4, valid_time, pressure_level, expver as a text for each time."""
    path = directory("copernicus")
    dims = ("valid_time", "pressure_level", "latitude", "longitude")
    t, z = field(250, 20, TIMES, 3, 7, 8), field(5e4, 3e3, TIMES, 3, 7, 8)
    t2m, u10 = field(280, 20, TIMES, 7, 8), field(0, 5, TIMES, 7, 8)
    time = {"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian", "dtype": "i8"}
    chunked = {"zlib": True, "shuffle": True}
    levels = xr.Dataset({"t": (dims, t, {"units": "K"}), "z": (dims, z, {"units": "m**2 s**-2"})},
                        coordinates("valid_time", "pressure_level"))
    for half, steps in enumerate((slice(0, 4), slice(4, 6))):  # two files, cut inside a chunk
        part = levels.isel(valid_time=steps).assign_coords(
            number=0, expver=("valid_time", np.array(["0001"] * 6, object)[steps]))
        part.to_netcdf(path / f"levels{half}.nc", unlimited_dims="valid_time", encoding={
            "t": {**chunked, "chunksizes": (3, 2, 4, 3)}, "z": {**chunked, "chunksizes": (1, 1, 7, 8)},
            "valid_time": {**time, "chunksizes": (4,)}, "expver": {"chunksizes": (4,)}})
    surface = xr.Dataset({"t2m": (dims[:1] + dims[2:], t2m, {"units": "K"}),
                          "u10": (dims[:1] + dims[2:], u10, {"units": "m s**-1"})}, coordinates("valid_time"))
    surface.to_netcdf(path / "surface.nc", encoding={"t2m": chunked, "u10": chunked, "valid_time": time})
    save("copernicus", u10, t2m, t[:, 1], z[:, 2], z[:, 0])


def packed():
    """The Copernicus store before 2024: packed integers, expver as a dimension; south to north, from -180."""
    path = directory("packed")
    raw = RANDOM.integers(-32000, 32000, (TIMES, 2, 7, 8)).astype("i2")
    raw[:4, 1] = raw[4:, 0] = -32767  # final data first, preliminary data afterwards
    scale, offset = 0.00183105, 273.15
    with netCDF4.Dataset(path / "t2m.nc", "w", format="NETCDF4") as file:
        for name, values, units in (("longitude", LON - 180, "degrees_east"), ("latitude", LAT[::-1], "degrees_north"),
                                    ("expver", np.array([1, 5]), None), ("time", HOURS + 1051896, None)):
            file.createDimension(name, len(values))
            variable = file.createVariable(name, "i4" if units is None else "f4", (name,))
            variable[:] = values
            if units:
                variable.units = units
        file["time"].units = "hours since 1900-01-01 00:00:00.0"
        file["time"].calendar = "gregorian"
        variable = file.createVariable("t2m", "i2", ("time", "expver", "latitude", "longitude"), fill_value=-32767)
        variable.set_auto_maskandscale(False)
        variable[:] = raw
        variable.setncatts({"scale_factor": scale, "add_offset": offset, "missing_value": np.int16(-32767),
                            "units": "K"})
    both = np.where(np.arange(TIMES)[:, None, None] < 4, raw[:, 0], raw[:, 1])
    save("packed", np.roll((both.astype("f8") * scale + offset).astype("f4")[:, ::-1], 4, axis=2))


def classic():
    """NetCDF-3: packed in bytes and shorts along the record dimension, another order of dimensions, levels in Pa."""
    path = directory("classic")
    shorts = RANDOM.integers(-32000, 32000, (7, 8, TIMES, 3)).astype("i2")  # (lat, lon, time, level)
    octets = RANDOM.integers(0, 255, (TIMES, 7, 8)).astype("u1")
    doubles = 250 + 20 * RANDOM.standard_normal((TIMES, 8, 7))  # (time, lon, lat)
    with netCDF4.Dataset(path / "all.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        for name, values in (("t", HOURS / 24 + 2), ("plev", np.array(LEVELS) * 100.0), ("lat", LAT), ("lon", LON)):
            file.createDimension(name, None if name == "t" else len(values))
            file.createVariable(name, "f8", (name,))[:] = values
        file["t"].units = "days since 2019-12-30T00:00:00Z"
        file["plev"].units = "Pa"
        file["plev"].standard_name = "air_pressure"
        z = file.createVariable("z", "i2", ("lat", "lon", "plev"))  # no times in it: NetCDF-3 has records first
        z.set_auto_maskandscale(False)
        z[:] = shorts[:, :, 0]
        z.setncatts({"scale_factor": np.float32(1.7), "add_offset": 51000.0, "units": "m2 s-2"})
        tcc = file.createVariable("tcc", "i1", ("t", "lat", "lon"), fill_value=-1)
        tcc.set_auto_maskandscale(False)
        tcc[:] = octets.view("i1")
        tcc.setncatts({"scale_factor": 1 / 254, "_Unsigned": "true", "units": "(0 - 1)"})
        file.createVariable("t2m", "f8", ("t", "lon", "lat"))[:] = doubles
        file["t2m"].units = "kelvin"
    z500 = (shorts[:, :, 0, 2].astype("f8") * np.float64(np.float32(1.7)) + 51000.0).astype("f4")
    save("classic", np.broadcast_to(z500, (TIMES, 7, 8)), (octets.astype("f8") * (1 / 254)).astype("f4"),
         doubles.astype("f4").transpose(0, 2, 1))


def makani():
    """Makani's HDF5: years below train, and metadata/data.json."""
    path = directory("makani")
    (path / "train").mkdir(exist_ok=True)
    (path / "metadata").mkdir(exist_ok=True)
    fields = field(10, 3, TIMES, 3, 7, 8)
    with h5py.File(path / "train/2020.h5", "w") as file:
        file["fields"] = fields
    (path / "metadata/data.json").write_text(json.dumps({
        "dataset_name": "test", "h5_path": "fields", "dims": ["time", "channel", "lat", "lon"], "dhours": 6,
        "coords": {"grid_type": "equiangular", "lat": LAT.tolist(), "lon": LON.tolist(),
                   "channel": ["u10m", "msl", "z500"]}}))
    save("makani", fields[:, 2], fields[:, 1], fields[:, 0])
    annotated(fields, ["u10m", "msl", "z500"])


def annotated(fields, channels):
    """The same fields as Makani's annotate_dataset.py writes them: coordinates in the file, as dimension scales."""
    path = directory("annotated") / "2020.h5"
    with h5py.File(path, "w") as file:
        file["fields"] = fields
    with h5py.File(path, "a", libver="latest") as file:
        file["timestamp"] = START.astype("f8") + 3600.0 * HOURS
        file["channel"] = np.array(channels, "S")
        file["lat"], file["lon"] = LAT.astype("f4"), LON.astype("f4")
        for dim, name in enumerate(("timestamp", "channel", "lat", "lon")):
            file[name].make_scale(name)
            file["fields"].dims[dim].attach_scale(file[name])
        file["fields"].dims[0].label = "Timestamp in UTC time zone"


def missing():
    """Sea-surface temperature, with NaN over land; and its means over cells of 2 x 2."""
    path = directory("missing")
    sst = field(290, 5, TIMES, 7, 8)
    sst[:, 2:5, 2:5] = np.nan
    dims = ("time", "latitude", "longitude")
    xr.Dataset({"sst": (dims, sst, {"units": "K"})}, coordinates("time")).to_netcdf(
        path / "sst.nc", format="NETCDF3_CLASSIC", encoding={"time": {"units": "minutes since 2020-01-01 00:00"}})
    save("missing", np.where(np.isnan(sst), np.float32(271.35), sst))
    np.save(OUT / "mean.npy", np.where(np.isnan(sst), np.nanmean(sst, axis=(1, 2), keepdims=True, dtype="f8"),
                                       sst).astype("f4")[:, None])
    bounds = np.sin(np.radians(np.concatenate([[90], (LAT[1:] + LAT[:-1]) / 2, [-90]])))
    area = (bounds[:-1] - bounds[1:])[:6, None] * np.ones(8)  # the row at the south fills no cell
    valid = ~np.isnan(sst[:, :6])
    cells = lambda array: array.reshape(-1, 3, 2, 4, 2).sum(axis=(2, 4))
    weights = cells(valid * area)
    means = cells(np.where(valid, sst[:, :6], 0).astype("f8") * area) / np.where(weights > 0, weights, 1)
    np.save(OUT / "cells.npy", np.where(weights > 0, means, 271.35).astype("f4")[:, None])


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    copernicus()
    packed()
    classic()
    makani()
    missing()


if __name__ == "__main__":
    main()
