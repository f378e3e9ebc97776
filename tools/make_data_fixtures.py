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


def write_links():
    """Files whose `fields` is a link, or a data set whose elements are in another file."""
    shape = (TIMES, CHANNELS, HEIGHT, WIDTH)
    links = {
        "soft_link": h5py.SoftLink("/weather"),
        "dangling_link": h5py.SoftLink("/nothing"),
        "cyclic_link": h5py.SoftLink("/fields"),
        "external_link": h5py.ExternalLink("little.h5", "/fields"),
    }
    for name, link in links.items():
        with h5py.File(OUT / f"{name}.h5", "w") as file:
            file.create_dataset("weather", data=fields("<f4")[:1])
            file["fields"] = link
    with h5py.File(OUT / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout(shape=shape, dtype="<f4")
        layout[:] = h5py.VirtualSource("little.h5", "fields", shape=shape)
        file.create_virtual_dataset("fields", layout)
    with h5py.File(OUT / "external.h5", "w") as file:
        file.create_dataset("fields", shape=shape, dtype="<f4", external=[("fields.raw", 0, h5py.h5f.UNLIMITED)])


def write_named():
    """A compressed year with names, units, coordinates and times, as Makani lays it out."""
    with h5py.File(OUT / "named_1979.h5", "w") as file:
        file.create_dataset("fields", data=fields("<f4"), chunks=(1, 2, 3, 4), compression="gzip")
        file["channel"] = ["u10", "t2m", "q700"]
        file["units"] = np.array([b"m/s", b"K", b"kg/kg"])
        file["lat"] = np.linspace(90, -90, HEIGHT)
        file["lon"] = np.arange(WIDTH) * 360 / WIDTH
        file["timestamp"] = 283996800.0 + 3600 * np.arange(TIMES)
        for dim, name in enumerate(["timestamp", "channel", "lat", "lon"]):
            file[name].make_scale(name)
            file["fields"].dims[dim].attach_scale(file[name])


def write_shapes():
    """Data sets without elements, or with more than a file can hold."""
    shapes = {
        "no_frames": (0, CHANNELS, HEIGHT, WIDTH),
        "no_channels": (TIMES, 0, HEIGHT, WIDTH),
        "many_frames": (2**40, 1, 1, 1),
        "many_samples": (2**30, 1, 1, 1),
        "many_bytes": (2**20, 2**15, 2**15, 2**12),
    }
    for name, shape in shapes.items():
        with h5py.File(OUT / f"{name}.h5", "w") as file:
            file.create_dataset("fields", shape=shape, dtype="<f4", chunks=(1, 1, 1, 1) if all(shape) else None)
    with h5py.File(OUT / "large_chunks.h5", "w") as file:
        file.create_dataset("fields", shape=(4, 4, 2**14, 2**15), dtype="<f4", chunks=(1, 1, 2**14, 2**15))


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
    with h5py.File(OUT / "type.h5", "w") as file:
        file["fields"] = np.dtype("<f4")
    write_links()
    write_named()
    write_shapes()
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
