package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.device.Device;
import org.isobar.device.Footprint;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;

/**
 * The conformance tests of a back end. Each operation of {@link org.isobar.device.ops.TensorOps} is compared with a
 * plain double-precision reference in each compute type of the device. Data are seeded and signed; sizes are odd and
 * even, smaller and larger than a vector. Outputs are poisoned before, and guards around every tensor are checked
 * after. An operation that a back end does not support is a failure.
 */
public final class TensorOpsContract {
    private TensorOpsContract() { }

    /** The compute types of the device. */
    public static List<DType> types(Device device) {
        return Stream.of(DType.F32, DType.F16, DType.BF16).filter(device::supports).toList();
    }

    /** The shapes of all cases of attention. */
    public static Set<AttentionShape> attentionShapes() {
        return Set.copyOf(AttentionCases.shapes());
    }

    /** The footprint of all cases, with a margin. */
    private static Footprint footprint() {
        return new Footprint(8192, 1 << 16, 1 << 16, 64, Set.of(), attentionShapes(),
            Set.of(DType.F32, DType.F16, DType.BF16), Set.of());
    }

    /** All cases of all compute types, independent of each other. Reserves the workspace for them on the device. */
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
