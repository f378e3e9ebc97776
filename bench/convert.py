#!/usr/bin/python3
"""Measures `isobar data convert` and `isobar data stats`, and the rates of xarray with h5py, disk and decompressor.

    bench/convert.py make DIR --gb 10      writes DIR/era5.nc and DIR/era5.zarr
    bench/convert.py measure DIR [--rounds 1] [--only netcdf|zarr] [--no_stats]
    bench/convert.py peer SOURCE FILE      converts with xarray and h5py, as measure does

The sources have 20 channels of 721 x 1440 points, five variables at four levels, with the 16 bits a value that ERA5 has
in GRIB. The NetCDF-4 file has deflate with shuffle in the library's own chunks, the Zarr store Blosc lz4 in chunks of a
time step, as ARCO-ERA5. --gb counts bytes of the converted file. Needs Debian's python3-xarray, python3-netcdf4,
python3-zarr and python3-h5py. ISOBAR names the launcher; default: ./isobar.
"""
import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import threading
import time
import zlib

import h5py
import netCDF4
import numcodecs
import numcodecs.blosc
import numpy
import xarray
import zarr

VARIABLES = {"u": ("m s**-1", 0, 30), "v": ("m s**-1", 0, 20), "t": ("K", 250, 40), "z": ("m**2 s**-2", 5e4, 3e4),
             "r": ("%", 50, 50)}
LEVELS = (1000, 850, 500, 50)
HEIGHT, WIDTH = 721, 1440
DIMS = ("valid_time", "pressure_level", "latitude", "longitude")
CHANNELS = [f"{name}{level}" for name in VARIABLES for level in LEVELS]
FRAME_BYTES = len(CHANNELS) * HEIGHT * WIDTH * 4
BLOCK = 8 << 20
SAMPLE = 2e9  # decoded bytes of which the rate of the decompressor is measured
WRITTEN = 5e9  # most bytes of which that of the disk is measured
CORES = os.cpu_count()


class Weather:
    """Smooth fields that move eastward, with noise in their lowest bits."""

    def __init__(self):
        random = numpy.random.default_rng(18)
        lat, lon = numpy.linspace(0, 1, HEIGHT)[:, None], numpy.linspace(0, 2 * numpy.pi, WIDTH, endpoint=False)
        self.smooth = []
        for _ in LEVELS:
            field = numpy.cos(3 * lat) + 0 * lon
            for wave in range(1, 40):
                field = field + wave ** -1.3 * numpy.sin(wave * lon + random.uniform(0, 6) + 9 * random.random() * lat) \
                    * numpy.sin(numpy.pi * wave * lat)
            self.smooth.append(field / abs(field).max())
        self.noise = random.standard_normal((HEIGHT, 2 * WIDTH)) / 1024

    def fields(self, name, first, count, levels):
        _, mean, spread = VARIABLES[name]
        fields = numpy.empty((count, len(levels), HEIGHT, WIDTH), "f4")
        for t in range(count):
            for k, level in enumerate(levels):
                shift = 5 * (first + t) + 131 * level
                field = numpy.roll(self.smooth[level], shift, axis=1) + self.noise[:, shift % WIDTH:][:, :WIDTH]
                fields[t, k] = mean + spread * (numpy.round(field * 32768) / 32768)
        return fields


def make(directory, frames):
    os.makedirs(directory, exist_ok=True)
    weather = Weather()
    coordinates = {"valid_time": 6 * numpy.arange(frames), "pressure_level": numpy.array(LEVELS, "f8"),
                   "latitude": numpy.linspace(90, -90, HEIGHT), "longitude": numpy.arange(WIDTH) * 0.25}
    units = dict(zip(DIMS, ("hours since 2020-01-01", "hPa", "degrees_north", "degrees_east")))
    shape = (frames, len(LEVELS), HEIGHT, WIDTH)
    with netCDF4.Dataset(os.path.join(directory, "era5.nc"), "w") as file:
        for dim in DIMS:
            file.createDimension(dim, len(coordinates[dim]))
            file.createVariable(dim, coordinates[dim].dtype, (dim,))[:] = coordinates[dim]
            file[dim].units = units[dim]
        for name, (unit, _, _) in VARIABLES.items():
            variable = file.createVariable(name, "f4", DIMS, zlib=True, complevel=1, shuffle=True)
            variable.units = unit
            times, levels = variable.chunking()[:2]
            for t in range(0, frames, times):
                for k in range(0, len(LEVELS), levels):
                    some = range(k, min(k + levels, len(LEVELS)))
                    variable[t:t + times, k:k + levels] = weather.fields(name, t, min(times, frames - t), some)
        print("NetCDF-4 in chunks of", variable.chunking())
    store = zarr.open_group(os.path.join(directory, "era5.zarr"), "w")
    for dim in DIMS:
        store.create_dataset(dim, data=coordinates[dim], fill_value=None).attrs.update(_ARRAY_DIMENSIONS=[dim], units=units[dim])
    for name, (unit, _, _) in VARIABLES.items():
        array = store.create_dataset(name, shape=shape, chunks=(1, *shape[1:]), dtype="f4", fill_value="NaN",
                                     compressor=numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE))
        array.attrs.update(_ARRAY_DIMENSIONS=list(DIMS), units=unit)
        for t in range(frames):
            array[t] = weather.fields(name, t, 1, range(len(LEVELS)))[0]
    zarr.consolidate_metadata(store.store)


def peer(source, target):
    """Converts by whole chunks, so that none is decompressed twice."""
    data = xarray.open_zarr(source, chunks=None) if source.endswith(".zarr") else xarray.open_dataset(source)
    with h5py.File(target, "w") as file:
        fields = file.create_dataset("fields", (len(data.valid_time), len(CHANNELS), HEIGHT, WIDTH), "f4")
        for number, name in enumerate(VARIABLES):
            encoding = data[name].encoding
            times, levels = (encoding.get("chunksizes") or encoding["chunks"])[:2]
            for t in range(0, len(data.valid_time), times):
                for k in range(0, len(LEVELS), levels):
                    channel = number * len(LEVELS) + k
                    block = data[name][t:t + times, k:k + levels].values
                    fields[t:t + times, channel:channel + block.shape[1]] = block
    with open(target, "rb") as file:
        os.fsync(file)


def run(*command):
    """Seconds, seconds of the processor, and peak anonymous bytes of a program."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = [0]

    def sample():
        while process.returncode is None:
            try:
                with open(f"/proc/{process.pid}/status") as status:
                    peak[0] = max([peak[0]] + [int(line.split()[1]) * 1024 for line in status if "RssAnon" in line])
            except OSError:
                return
            time.sleep(0.05)

    sampler = threading.Thread(target=sample)
    sampler.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    sampler.join()
    if process.returncode != 0:
        sys.exit(f"{command} failed")
    return seconds, usage.ru_utime, usage.ru_stime, peak[0]


def files(path):
    return [path] if os.path.isfile(path) else [os.path.join(base, name) for base, _, names in os.walk(path)
                                                 for name in names]


def forget(path):
    """Drops files from the page cache."""
    for file in files(path):
        with open(file, "rb") as opened:
            os.fsync(opened)
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_rate(path, size):
    block = os.urandom(BLOCK)
    start = time.perf_counter()
    with open(path, "wb", buffering=0) as file:
        for _ in range(int(size) // BLOCK):
            file.write(block)
        os.fsync(file)
    rate = size / (time.perf_counter() - start)
    os.remove(path)
    return rate


def read_rate(path):
    """The rate of reading a file with as many threads as there are cores."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        def read(thread):
            buffer = bytearray(BLOCK)
            for at in range(thread * BLOCK, size, CORES * BLOCK):
                os.preadv(file.fileno(), [buffer], at)
        return size / parallel(read, range(CORES))


def parallel(work, items):
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        for _ in pool.map(work, items):
            pass
    return time.perf_counter() - start


def decoding_rate(source):
    """The rate of the decompressor alone, on all cores, of chunks in memory, in decoded bytes."""
    encoded, decoded = [], 0
    if source.endswith(".zarr"):
        numcodecs.blosc.use_threads = False
        codec = numcodecs.Blosc()
        decode = codec.decode
        for path in files(os.path.join(source, "t")):
            if decoded < SAMPLE and not os.path.basename(path).startswith("."):
                encoded.append(open(path, "rb").read())
                decoded += len(LEVELS) * HEIGHT * WIDTH * 4
    else:
        decode = zlib.decompress
        with h5py.File(source) as file:
            data = file["t"].id
            for i in range(data.get_num_chunks()):
                if decoded < SAMPLE:
                    encoded.append(data.read_direct_chunk(data.get_chunk_info(i).chunk_offset)[1])
                    decoded += int(numpy.prod(file["t"].chunks)) * 4
    return decoded / parallel(decode, encoded)


def line(name, size, seconds, user, system, peak, limit):
    print(f"  {name:<16}{seconds:8.1f} s {size / seconds / 1e9:7.3f} GB/s  {size / seconds / limit:5.2f} of the limit"
          f"   processor {user:6.1f} + {system:5.1f} s   anonymous {peak / 1e6:6.0f} MB", flush=True)


def measure(directory, rounds, only, stats):
    isobar = os.environ.get("ISOBAR", "./isobar")
    out = os.path.join(directory, "out")
    for kind, name in (("netcdf", "era5.nc"), ("zarr", "era5.zarr")):
        if only not in (None, kind):
            continue
        source = os.path.join(directory, name)
        size = len(xarray.open_zarr(source).valid_time if kind == "zarr" else xarray.open_dataset(source).valid_time) \
            * FRAME_BYTES
        decoding = decoding_rate(source)
        stored = sum(map(os.path.getsize, files(source)))
        print(f"{name}: {stored / 1e9:.2f} GB become {size / 1e9:.2f} GB; load {os.getloadavg()[0]:.1f}")
        for _ in range(rounds):
            shutil.rmtree(out, ignore_errors=True)
            os.makedirs(out)
            forget(source)
            disk = write_rate(os.path.join(out, "raw"), min(size, WRITTEN))
            limit = min(disk, decoding)
            print(f"  disk writes {disk / 1e9:.3f} GB/s, decompressor alone {decoding / 1e9:.3f} GB/s")
            line("isobar", size, *run(isobar, "data", "convert", f"--from={source}", f"--to={out}/isobar",
                                      "--variables=" + ",".join(CHANNELS)), limit)
            shutil.rmtree(os.path.join(out, "isobar"))
            forget(source)
            line("xarray, h5py", size, *run(sys.executable, __file__, "peer", source, f"{out}/peer.h5"), limit)
            os.rename(f"{out}/peer.h5", f"{directory}/2020.h5")
    shutil.rmtree(out, ignore_errors=True)
    if stats:
        measure_stats(isobar, directory, rounds)


def measure_stats(isobar, directory, rounds):
    path = os.path.join(directory, "2020.h5")
    size = os.path.getsize(path)
    print(f"Statistics of {size / 1e9:.2f} GB")
    for _ in range(rounds):
        for warm in (False, True):
            if not warm:
                forget(path)
            reading = read_rate(path)
            print(f"  reading alone, {'page cache' if warm else 'disk'}: {reading / 1e9:.3f} GB/s")
            if not warm:
                forget(path)
            line("isobar", size, *run(isobar, "data", "stats", path, f"--out={directory}/stats", "--force"), reading)
    shutil.rmtree(os.path.join(directory, "stats"))


def main():
    parser = argparse.ArgumentParser(description="Benchmark of converting weather data.")
    parser.add_argument("command", choices=("make", "measure", "peer"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--gb", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=("netcdf", "zarr"))
    parser.add_argument("--no_stats", action="store_true")
    args = parser.parse_args()
    if args.command == "make":
        make(args.paths[0], max(1, round(args.gb * 1e9 / FRAME_BYTES)))
    elif args.command == "peer":
        peer(*args.paths)
    else:
        measure(args.paths[0], args.rounds, args.only, not args.no_stats)


if __name__ == "__main__":
    main()
