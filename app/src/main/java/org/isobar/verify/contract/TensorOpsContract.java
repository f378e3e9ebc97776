package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.device.Device;
import org.isobar.device.Footprint;
import org.isobar.tensor.DType;

/**
 * What every back end must do: each operation of {@link org.isobar.device.ops.TensorOps}, in each type that the device
 * computes products in, against a plain double-precision reference, on seeded signed data of odd and even sizes, below
 * and above a vector, with outputs poisoned before and guards around every tensor checked after. An operation that a
 * back end does not support is a failure.
 */
public final class TensorOpsContract {
    private TensorOpsContract() { }

    /** The types that the device computes products in. */
    public static List<DType> types(Device device) {
        return Stream.of(DType.F32, DType.F16, DType.BF16).filter(device::supports).toList();
    }

    /** What the cases give to operations, and a little more. */
    private static Footprint footprint() {
        return new Footprint(8192, 1 << 16, 1 << 16, 64, Set.of(), Set.copyOf(AttentionCases.shapes()));
    }

    /** All cases of all types of the device, each independent of the others; the device makes room for them. */
    public static List<ContractCase> cases(Device device) {
        device.reserve(footprint());
        List<DType> types = types(device);
        List<ContractCase> cases = new ArrayList<>();
        Arrays.stream(DType.values()).map(MemoryCases::storage).forEach(cases::addAll);
        Stream.of(PatchCases.positions(), LossCases.cases(), NormalizeCases.cases(), StepCases.cases())
            .forEach(cases::addAll);
        for (DType a : types) {
            Stream.of(CastCases.cases(a, types), ProductCases.cases(a), LayerNormCases.cases(a),
                GeluCases.cases(a), AttentionCases.cases(a), PatchCases.cases(a), ResidualCases.cases(a),
                AdamCases.cases(a)).forEach(cases::addAll);
        }
        return List.copyOf(cases);
    }
}
