package org.isobar.tensor;

/** A block of memory of one device that tensors are views of. Its owner, an arena, frees it. */
public interface Storage {
    /** Address of the first byte: of the host for a CPU, of the device for a GPU; 0 where nothing stands behind it. */
    long address();

    /** Size in bytes. */
    long bytes();
}
