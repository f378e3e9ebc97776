package org.isobar.verify;

import java.util.List;
import java.util.stream.Stream;

/**
 * What every back end must do: each operation of {@link org.isobar.device.TensorOps} against a plain double-precision
 * reference, on seeded signed data of odd and even sizes, below and above a vector, with outputs poisoned before and
 * guards around every tensor checked after. An operation that a back end does not support is a failure.
 */
public final class TensorOpsContract {
    private TensorOpsContract() { }

    /** All cases, each independent of the others. */
    public static List<Case> cases() {
        return Stream.of(MemoryCases.cases(), ProductCases.cases(), LayerNormCases.cases(), GeluCases.cases(),
            AttentionCases.cases(), PatchCases.cases(), ResidualCases.cases(), LossCases.cases(), AdamCases.cases())
            .flatMap(List::stream).toList();
    }
}
