package org.isobar.tensor;

/** A block of device memory. Tensors are views of it; the arena that allocated it frees it. */
public interface Storage {
    /** Address of the first byte: a host address for a CPU, a device address for a GPU; 0 without backing memory. */
    long address();

    /** Size in bytes. */
    long bytes();
}
