package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;

/** Cases of casts between types: every 16-bit number, every tie between two neighbours, and the limits of the range. */
final class CastCases {
    private static final int PATTERNS = 1 << 16;
    private static final double[] SPECIAL = {0, -0.0, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN,
        Float.MIN_VALUE, -Float.MIN_VALUE, Float.MIN_NORMAL, Float.MAX_VALUE, -Float.MAX_VALUE, 1 - 0x1p-24,
        1 + 0x1p-23};

    private CastCases() { }

    /** Casts from one type to each type that a device supports. */
    static List<ContractCase> cases(DType from, Iterable<DType> supported) {
        List<ContractCase> cases = new ArrayList<>();
        for (DType to : supported) {
            for (int n : EdgeSizes.elements()) {
                cases.add(cast(from, to, "of " + n, bench -> bench.random("x", n)));
            }
            cases.add(cast(from, to, "of numbers with a name", bench -> SPECIAL));
            cases.add(cast(from, to, "of all numbers", bench -> numbers(from)));
            if (to.bytes() < from.bytes()) {
                cases.add(cast(from, to, "of all ties and what lies beside them", bench -> ties(to)));
            }
        }
        return cases;
    }

    private static ContractCase cast(DType from, DType to, String variant, Function<OperationBench, double[]> values) {
        return new ContractCase("cast", OperandTypes.of(from, "x").with(to, "y"), "to " + to + " " + variant, bench -> {
            double[] numbers = values.apply(bench);
            GuardedTensor x = bench.input("x", numbers, numbers.length);
            GuardedTensor y = bench.output("y", 1, numbers.length);
            bench.ops().memory().cast(y.tensor(), x.tensor());
            bench.expect(y, ExpectedTensor.exactly(x.values()));
        });
    }

    /** Every number of a 16-bit type; for other types as many bit patterns, evenly spaced. */
    private static double[] numbers(DType dtype) {
        return IntStream.range(0, PATTERNS).mapToDouble(bits -> switch (dtype) {
            case F16 -> Float.float16ToFloat((short) bits);
            default -> Float.intBitsToFloat(bits << 16 | (dtype == DType.F32 ? bits * 40_503 & 0xFFFF : 0));
        }).toArray();
    }

    /** The midpoint between each two neighbours of {@code dtype} and beyond the last, and the numbers next to it. */
    private static double[] ties(DType dtype) {
        double[] finite = DoubleStream.of(numbers(dtype)).filter(x -> x >= 0 && x < Double.POSITIVE_INFINITY).sorted()
            .toArray();
        return IntStream.range(0, finite.length).boxed().flatMapToDouble(i -> {
            double next = i + 1 < finite.length ? finite[i + 1] : 2 * finite[i] - finite[i - 1];
            float middle = (float) ((finite[i] + next) / 2);
            float sign = i % 2 == 0 ? 1 : -1;
            return DoubleStream.of(sign * middle, sign * Math.nextUp(middle), sign * Math.nextDown(middle));
        }).toArray();
    }
}
