#!/usr/bin/env python3
"""Write the Zarr stores of version 2 of the tests of `data.zarr`, each in a zip file.

Usage: /usr/bin/python3 tools/make_zarr_fixtures.py   (needs xarray, zarr and numpy, Debian's python3-xarray and
python3-zarr; writes app/src/test/resources/org/isobar/data/zarr)

make_zarr3_fixtures.mjs writes those of version 3.
"""
import tempfile
import zipfile
from pathlib import Path

import numcodecs
import numpy as np
import xarray as xr
import zarr
from numcodecs import Blosc

OUT = Path(__file__).resolve().parent.parent / "app/src/test/resources/org/isobar/data/zarr"
SHAPE = (3, 2, 5, 7)
DIMS = ["time", "level", "lat", "lon"]
LARGE = (2, 41, 57)


def elements(shape):
    """Element [t, l, j, i] is 1000 t + 100 l + 10 j + i."""
    weights = (1000, 100, 10, 1)[-len(shape):]
    return sum(w * axis for w, axis in zip(weights, np.ogrid[tuple(slice(extent) for extent in shape)]))


def add(group, name, dtype, shape=SHAPE, chunks=(2, 1, 3, 4), fill_value=None, **options):
    array = group.create_dataset(name, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill_value, **options)
    array[...] = elements(shape).astype(dtype)
    assert (group[name][...] == elements(shape).astype(dtype)).all()
    array.attrs["_ARRAY_DIMENSIONS"] = DIMS[-len(shape):]
    return array


def small(group):
    """Types, orders and chunks."""
    add(group, "plain", "<f4", compressor=None)
    add(group, "big", ">f4")
    add(group, "double", "<f8", compressor=numcodecs.Zstd(3))
    add(group, "short", "<i2", chunks=SHAPE, order="F").attrs.update({"scale_factor": 0.5, "units": "K"})
    add(group, "half", "<f2", shape=(5, 7), chunks=(5, 7))
    add(group, "bytes", "|u1", shape=(5, 7), chunks=(2, 7), compressor=numcodecs.GZip(1))
    add(group, "nested", "<i8", dimension_separator="/", compressor=numcodecs.Zlib(1))
    add(group, "lz4", ">i4", compressor=numcodecs.LZ4(), filters=[numcodecs.Shuffle(4)])
    add(group, "unsigned", "<u4", chunks=(3, 2, 5, 7), compressor=Blosc("lz4", 5, Blosc.NOSHUFFLE))
    sparse = group.create_dataset("sparse", shape=SHAPE, chunks=(1, 2, 5, 7), dtype="<f4", fill_value=np.nan)
    sparse[2] = elements(SHAPE)[2]
    marked = group.create_dataset("marked", shape=SHAPE, chunks=(1, 2, 5, 7), dtype=">i2", fill_value=-9)
    marked[2] = elements(SHAPE)[2]
    zero = group.create_dataset("zero", shape=SHAPE, chunks=(1, 2, 5, 7), dtype="<f4", fill_value=0)
    zero[2] = elements(SHAPE)[2]
    group.create_dataset("undefined", shape=SHAPE, chunks=(1, 2, 5, 7), dtype="<f4", fill_value=None)[2] = 1
    group.create_dataset("scalar", shape=(), dtype="<i4", fill_value=None)[...] = 7
    group.create_dataset("text", data=np.array(["a", "b"]))
    group.create_dataset("times", data=np.array(["2020-01-01T00", "2020-01-01T06"], "datetime64[ns]"))
    unknown = group.create_dataset("unknown", shape=(4,), dtype="<f4", compressor=numcodecs.BZ2(1))
    unknown[...] = 1
    group.create_group("inner").create_dataset("hidden", data=np.arange(3))


def blosc(group):
    """All compressors and filters of Blosc, in blocks that are split or not, whole or not."""
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle, suffix in ((Blosc.NOSHUFFLE, "none"), (Blosc.SHUFFLE, "bytes"), (Blosc.BITSHUFFLE, "bits")):
            for blocksize in (0, 4096):
                add(group, f"{cname}_{suffix}_{blocksize}", "<f4", shape=LARGE, chunks=(1, 41, 57),
                    compressor=Blosc(cname, 5, shuffle, blocksize))
    for dtype in ("<f8", "<i2"):
        for shuffle, suffix in ((Blosc.SHUFFLE, "bytes"), (Blosc.BITSHUFFLE, "bits")):
            add(group, f"{dtype[1:]}_{suffix}", dtype, shape=LARGE, chunks=(2, 41, 57),
                compressor=Blosc("lz4", 5, shuffle, 8192))
    noise = group.create_dataset("noise", data=xorshift(1000), chunks=(600,), compressor=Blosc("lz4", 5, Blosc.SHUFFLE))
    assert noise.nbytes_stored > noise.nbytes  # stored as it is


def xorshift(count):
    """Numbers that cannot be compressed: Marsaglia's generator of 32 bits, from 1."""
    numbers, x = [], 1
    for _ in range(count):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        numbers.append(x)
    return np.array(numbers, "u4")


def weather(levels=(500, 850)):
    """Three days of weather that is smooth in space."""
    time = np.datetime64("2020-01-01T00", "ns") + np.arange(12) * np.timedelta64(6, "h")
    latitude = np.linspace(-78.75, 78.75, 8)
    longitude = np.arange(16) * 22.5
    t, y, x = np.meshgrid(np.arange(12), latitude * np.pi / 180, longitude * np.pi / 180, indexing="ij")
    surface = 280 + 20 * np.cos(y) + 3 * np.sin(x + 0.1 * t) * np.cos(y)
    upper = np.stack([surface * 9.81 * (1000 - level) / 10 for level in levels], axis=1)
    coords = {"time": time, "latitude": latitude, "longitude": longitude, "level": np.array(levels, "i4")}
    return surface.astype("f4"), upper.astype("f4"), coords


def weatherbench():
    """Dimensions and names of WeatherBench 2: longitude before latitude, latitudes from the south."""
    surface, upper, coords = weather()
    dims = ("time", "longitude", "latitude")
    data = xr.Dataset({
        "2m_temperature": (dims, surface.transpose(0, 2, 1), {"units": "K", "long_name": "2 metre temperature"}),
        "geopotential": (("time", "level", *dims[1:]), upper.transpose(0, 1, 3, 2), {"units": "m**2 s**-2"}),
        "land_sea_mask": (dims[1:], (surface[0].T > 290).astype("f4"), {"units": "(0 - 1)"}),
    }, coords)
    encoding = {"2m_temperature": {"chunks": (5, 16, 8)}, "geopotential": {"chunks": (5, 2, 16, 8)},
                "time": {"units": "hours since 1959-01-01", "dtype": "i8"}}
    return data, encoding


def arco():
    """Dimensions and names of ARCO-ERA5: one time step a chunk, all levels, latitudes from the north."""
    surface, upper, coords = weather()
    coords["latitude"] = coords["latitude"][::-1]
    dims = ("time", "latitude", "longitude")
    data = xr.Dataset({
        "2m_temperature": (dims, surface[:, ::-1], {"units": "K", "short_name": "t2m"}),
        "geopotential": (("time", "level", *dims[1:]), upper[:, :, ::-1], {"units": "m**2 s**-2"}),
    }, coords)
    pressure = (("time", "latitude", "longitude"), 101325 - 10 * (surface[:, ::-1] - 280), {"units": "Pa"})
    data["mean_sea_level_pressure"] = pressure
    encoding = {"2m_temperature": {"chunks": (1, 8, 16)}, "geopotential": {"chunks": (1, 2, 8, 16)},
                "mean_sea_level_pressure": {"chunks": (4, 3, 5), "dtype": "i2", "scale_factor": 0.0123,
                                            "add_offset": 101300.5, "_FillValue": -32767,
                                            "compressor": numcodecs.Zstd(3)},
                "time": {"units": "hours since 1900-01-01", "dtype": "i8"}}
    return data, encoding


def expect(name, store, fields):
    """What NumPy makes of fields: (time, channel, latitude, longitude), latitudes from the north."""
    group = zarr.open_group(str(store), "r")
    channels = []
    for variable, level in fields:
        array = group[variable]
        values = array[...]
        dims = list(array.attrs["_ARRAY_DIMENSIONS"])
        if "scale_factor" in array.attrs:
            assert (values != -32767).all()
            values = values.astype("f8") * array.attrs["scale_factor"] + array.attrs["add_offset"]
        if level is not None:
            values = values.take(level, dims.index("level"))
            dims.remove("level")
        values = values.transpose([dims.index(dim) for dim in ("time", "latitude", "longitude")])
        channels.append(values if group["latitude"][0] > 0 else values[:, ::-1])
    np.save(OUT / f"{name}.npy", np.stack(channels, 1).astype("f4"))


def pack(name, write, fields=()):
    with tempfile.TemporaryDirectory() as directory:
        store = Path(directory) / name
        write(store)
        if fields:
            expect(name, store, fields)
        with zipfile.ZipFile(OUT / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path for path in store.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(str(file.relative_to(store)))  # of 1980: equal stores give equal files
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())


def group_of(fill):
    return lambda path: fill(zarr.group(zarr.DirectoryStore(str(path))))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    pack("small", group_of(small))
    pack("blosc", group_of(blosc))
    upper = [("2m_temperature", None), ("geopotential", 0), ("geopotential", 1)]
    data, encoding = weatherbench()
    pack("weatherbench", lambda path: data.to_zarr(path, encoding=encoding, consolidated=True), upper)
    data, encoding = arco()
    pack("arco", lambda path: data.to_zarr(path, encoding=encoding, consolidated=True),
         upper + [("mean_sea_level_pressure", None)])


if __name__ == "__main__":
    main()
