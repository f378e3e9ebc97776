package org.isobar.checkpoint.safetensors;

import java.lang.foreign.MemorySegment;
import java.util.List;

import org.isobar.tensor.Shape;

/** A file or checkpoint of named tensors, read one at a time. */
public interface StoredTensors extends AutoCloseable {
    /** Names of all tensors. */
    List<String> names();

    /**
     * Shape of a tensor.
     *
     * @throws org.isobar.fault.UserException if there is no such tensor
     */
    Shape shape(String name);

    /**
     * Copies a tensor into {@code destination} as binary32.
     *
     * @param destination receives all elements as floats; undefined after a failure
     * @throws org.isobar.fault.UserException if there is no such tensor, or it cannot be read
     */
    void read(String name, MemorySegment destination);

    @Override
    void close();
}
