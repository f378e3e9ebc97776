#!/usr/bin/env python3
"""Write the NetCDF files of the tests of `data.source`.

Usage: /usr/bin/python3 tools/make_store_fixtures.py   (needs netCDF4 and numpy, Debian's python3-netcdf4; writes
app/src/test/resources/org/isobar/data/source)
"""
from pathlib import Path

import netCDF4
import numpy as np

OUT = Path(__file__).resolve().parent.parent / "app/src/test/resources/org/isobar/data/source"
SHAPE = (3, 2, 5, 7)
DIMS = ("time", "level", "lat", "lon")


def elements(*place):
    """Element [t, l, j, i] is 1000 t + 100 l + 10 j + i; `place` is an index of the first dimensions."""
    t, l, j, i = np.ogrid[tuple(slice(extent) for extent in SHAPE)]
    return (1000 * t + 100 * l + 10 * j + i)[place]


def create(name, file_format, unlimited=True):
    file = netCDF4.Dataset(OUT / f"{name}.nc", "w", format=file_format)
    for dim, extent in zip(DIMS, SHAPE):
        file.createDimension(dim, None if dim == "time" and unlimited else extent)
    return file


def add(file, name, dtype, data, dims=DIMS, **options):
    variable = file.createVariable(name, dtype, dims, **options)
    variable.set_auto_maskandscale(False)
    variable[...] = data.astype(dtype)
    return variable


def classic(name, file_format):
    with create(name, file_format) as file:
        packed = add(file, "packed", "i2", elements(), fill_value=-32767)
        packed.scale_factor = 0.5
        packed.units = "K"
        add(file, "surface", "f4", elements(slice(None), 0), ("time", "lat", "lon"))
        add(file, "bytes", "i1", elements(slice(None), 0, 0), ("time", "lon"))
        add(file, "fixed", "f8", elements(0, 0), ("lat", "lon"))
        file.createVariable("scalar", "i4", ())[...] = 7
        file.createVariable("text", "S1", ("lon",))


def netcdf4():
    with create("netcdf4", "NETCDF4") as file:
        for dim, dtype in zip(DIMS, ("i8", "f4", "f8", "f4")):
            coordinate = file.createVariable(dim, dtype, (dim,))
            coordinate.units = "hours since 1990-01-01" if dim == "time" else ""
            coordinate[:] = np.arange(SHAPE[DIMS.index(dim)])
        packed = add(file, "packed", "i2", elements(), zlib=True, shuffle=True, chunksizes=(2, 1, 3, 4),
                     fill_value=-32767)
        packed.scale_factor = 0.5
        packed.units = "K"
        add(file, "big", ">f4", elements(0, 0), ("lat", "lon"), endian="big")
        add(file, "unsigned", "u2", elements(), zlib=True, fletcher32=True)
        file.createVariable("scalar", "i4", ())[...] = 7
        file.createVariable("text", str, ("time",))[0] = "0001"
        sparse = file.createVariable("sparse", "i2", DIMS, zlib=True, chunksizes=(1, 2, 5, 7), fill_value=-9)
        sparse.set_auto_maskandscale(False)
        sparse[2] = elements(2)
        file.createVariable("unwritten", "f4", ("level", "lat"), contiguous=True, fill_value=2.5)


def one_record():
    """The records of a single variable are not padded to four bytes."""
    with create("one_record", "NETCDF3_CLASSIC") as file:
        add(file, "packed", "i2", elements(slice(None), 0, 0), ("time", "lon"))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    classic("classic", "NETCDF3_CLASSIC")
    classic("offset64", "NETCDF3_64BIT_OFFSET")
    classic("data64", "NETCDF3_64BIT_DATA")
    one_record()
    netcdf4()


if __name__ == "__main__":
    main()
