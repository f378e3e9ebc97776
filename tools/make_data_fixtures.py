#!/usr/bin/env python3
"""Write the HDF5 and NumPy files of the data tests: variants that Isobar itself does not write.

Usage: tools/make_data_fixtures.py   (needs h5py and numpy; writes app/src/test/resources/org/isobar/data)
"""
from pathlib import Path

import h5py
import numpy as np

OUT = Path(__file__).resolve().parent.parent / "app/src/test/resources/org/isobar/data"
TIMES, CHANNELS, HEIGHT, WIDTH = 4, 3, 5, 7


def fields(dtype):
    """Element [t, c, j, i] is 1000 t + 100 c + 10 j + i + 0.25, which every type below holds exactly."""
    t, c, j, i = np.ogrid[:TIMES, :CHANNELS, :HEIGHT, :WIDTH]
    return (1000 * t + 100 * c + 10 * j + i + 0.25).astype(dtype)


def write(name, data, dataset="fields", userblock=0, libver=None, **options):
    with h5py.File(OUT / f"{name}.h5", "w", userblock_size=userblock, libver=libver) as file:
        file.create_dataset(dataset, data=data, **options)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    write("little", fields("<f4"))
    write("big", fields(">f4"))
    write("double", fields("<f8"))
    write("double_big", fields(">f8"))
    write("latest", fields("<f4"), libver="latest")
    write("user_block", fields("<f4"), userblock=512)
    chunks = (1, 2, 3, 4)
    write("chunked", fields("<f4"), chunks=chunks)
    write("chunked_gzip", fields("<f4"), chunks=chunks, compression="gzip", shuffle=True)
    write("chunked_big", fields(">f4"), chunks=chunks)
    write("chunked_double", fields("<f8"), chunks=chunks, compression="gzip")
    write("half", fields("<f4").astype("<f2"))
    write("integers", fields("<i4"))
    write("strings", np.full((TIMES, CHANNELS, HEIGHT, WIDTH), b"warm"))
    write("rank3", fields("<f4")[0])
    write("no_fields", fields("<f4"), dataset="weather")
    with h5py.File(OUT / "group.h5", "w") as file:
        file.create_group("fields")
    with h5py.File(OUT / "unwritten.h5", "w") as file:
        file.create_dataset("fields", shape=(TIMES, CHANNELS, HEIGHT, WIDTH), dtype="<f4")
    with h5py.File(OUT / "sparse.h5", "w") as file:
        sparse = file.create_dataset("fields", shape=(TIMES, CHANNELS, HEIGHT, WIDTH), dtype="<f4", chunks=chunks)
        sparse[:3] = fields("<f4")[:3]
    array = (np.arange(6) / 4 - 0.5).reshape(1, 3, 2)
    for name, dtype in {"f4": "<f4", "f4_big": ">f4", "f8": "<f8", "f8_big": ">f8"}.items():
        np.save(OUT / f"{name}.npy", array.astype(dtype))
    for version in (2, 3):
        with open(OUT / f"version{version}.npy", "wb") as file:
            np.lib.format.write_array(file, array.astype("<f4"), version=(version, 0))
    np.save(OUT / "fortran.npy", np.asfortranarray(array[0].astype("<f4")))
    np.save(OUT / "integers.npy", np.arange(6))


if __name__ == "__main__":
    main()
