package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Where the elements of a tensor of this back end lie in host memory. */
final class Segments {
    private Segments() { }

    /** The bytes of {@code tensor}, no more and no less; shares memory. */
    static MemorySegment of(Tensor tensor) {
        return HostStorage.of(tensor);
    }
}
