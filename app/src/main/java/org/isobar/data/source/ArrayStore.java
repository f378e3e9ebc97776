package org.isobar.data.source;

import java.nio.file.Path;
import java.util.List;

/** A file or a directory of named arrays that is open for reading: a NetCDF file, a Zarr store. Thread-safe. */
public interface ArrayStore extends AutoCloseable {
    /** Where it is. */
    Path path();

    /** What it is, and where: {@code NetCDF file /data/t2m.nc}. Messages begin with it. */
    String title();

    /**
     * Its arrays of numbers, coordinates included. An array of anything else is left out, and so is one that is in an
     * inner group.
     */
    List<StoredArray> arrays();

    /** Closes the files. No read may be in progress. */
    @Override
    void close();
}
