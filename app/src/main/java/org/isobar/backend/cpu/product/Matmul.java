package org.isobar.backend.cpu.product;

import org.isobar.device.ops.WriteMode;

/**
 * A matrix product compiled for one shape and one layout of its operands. Sums are accumulated in single precision and
 * rounded once, after the bias or the old result has been added.
 */
public interface Matmul extends AutoCloseable {
    /** Address of a bias that is not there. */
    long NO_BIAS = 0;

    /**
     * The parameters that a product is compiled for.
     *
     * @param right       the right operand
     * @param form        layout of the right operand
     * @param m           rows of the left operand
     * @param aStride     elements from one stored row of the left operand to the next
     * @param aTransposed whether the stored rows are its columns
     * @param cStride     elements from one row of the result to the next
     * @param finish      how the product is written to the result
     */
    record Key(Packing.Key right, Form form, long m, long aStride, boolean aTransposed, long cStride, Finish finish) {
        /** Returns whether the result and the left operand have the layouts of this product. */
        public boolean fits(Matrix c, Matrix a) {
            return a.stride() == aStride && a.transposed() == aTransposed && c.stride() == cStride && !c.transposed();
        }
    }

    /** Layout of the right operand. */
    enum Form {
        /** Packed by a {@link Packing}. */
        PACKED,
        /** Not packed beforehand; the product packs what it needs. */
        PLAIN
    }

    /** How the product is written to the result. */
    enum Finish {
        /** The product replaces the result. */
        OVERWRITE,
        /** The product is added to the result. */
        ADD,
        /** A bias of the result's type is added to each row of the product; the sum replaces the result. */
        ADD_BIAS;

        public static Finish of(WriteMode write) {
            return switch (write) {
                case OVERWRITE -> OVERWRITE;
                case ADD -> ADD;
            };
        }
    }

    /**
     * Computes one product on the calling thread.
     *
     * @param worker index of the calling thread in the pool
     * @param c      (m, n)
     * @param a      (m, k)
     * @param right  address of b, (k, n), in the layout that the product was compiled for
     * @param bias   address of the bias (n), if the product adds one
     */
    void run(int worker, Matrix c, Matrix a, long right, long bias);

    /** Computes one product that adds no bias. */
    default void run(int worker, Matrix c, Matrix a, long right) {
        run(worker, c, a, right, NO_BIAS);
    }

    @Override
    void close();
}
