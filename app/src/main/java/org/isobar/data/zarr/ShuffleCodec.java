package org.isobar.data.zarr;

import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;

import org.isobar.data.source.Unshuffle;

/**
 * The shuffle filter of numcodecs and HDF5, over a whole chunk.
 *
 * @param elementBytes size of the elements whose bytes are sorted by significance
 */
record ShuffleCodec(int elementBytes) implements ByteCodec {
    @Override
    public OptionalInt added() {
        return OptionalInt.of(0);
    }

    @Override
    public void decode(MemorySegment encoded, MemorySegment decoded, Scratch scratch) {
        Unshuffle.bytes(encoded, decoded, elementBytes);
    }
}
