package org.isobar.device;

import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.device.ops.ProductShape;

/**
 * The algorithms that a library has for a device's matrix products. Until another one is set, a product uses the one
 * that the library's heuristic prefers.
 */
public interface ProductAlgorithms {
    /** How the algorithm of a product is chosen, as {@code --product_algorithms} names it. */
    enum Choice {
        /** The fastest in a trial. */
        TIMED,
        /** The one that the library's heuristic prefers. */
        HEURISTIC
    }

    /** Name and version of the library, such as "cuBLASLt 13.2.1". */
    String library();

    /**
     * The algorithms that the library proposes for a product, the preferred one first. All give the same bits in each
     * call.
     *
     * @return at least one, in the library's own form
     * @throws DeviceException if the library has none
     */
    List<String> candidates(ProductShape shape);

    /**
     * Makes a product use this algorithm from now on.
     *
     * @param algorithm one of {@link #candidates}, of this version of the library on such a device
     * @return why the library refuses it; empty if it does not
     */
    Optional<String> use(ProductShape shape, String algorithm);

    /** The algorithms that {@link #use} has set. */
    Map<ProductShape, String> used();

    /** Makes all products use the algorithms that the heuristic prefers. */
    void useHeuristic();
}
