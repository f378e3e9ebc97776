package org.isobar.train.engine;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.DeviceException;
import org.isobar.device.ProductAlgorithms;
import org.isobar.device.Stopwatch;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.ProductOps;
import org.isobar.device.ops.ProductShape;
import org.isobar.device.ops.ProductShape.Ending;
import org.isobar.device.ops.ProductShape.Kind;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * A trial of the algorithms that a library proposes for one matrix product, on pseudo-random operands. All are timed.
 * The fastest is chosen whose result agrees with that of the preferred one and has the same bits twice. The preferred
 * one stays if no other is faster by {@value #GAIN} of its time, so that noise does not decide.
 *
 * <p>Two right results differ by the rounding of the result and by that of a sum of k terms in single precision, for
 * which k roundoffs are allowed (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). A number is also
 * granted that fraction of the root mean square of all numbers, because sums cancel.
 */
final class ProductTrial implements AutoCloseable {
    private static final double GAIN = 0.02;
    private static final double ROUNDINGS = 4;
    private static final int ROUNDS = 3;
    private static final int REPEATS = 3; // between two marks, so that the launch of the first counts less

    private final Device device;
    private final ProductAlgorithms algorithms;
    private final ProductShape shape;
    private final TrialMemory memory;
    private final Tensor a;
    private final Tensor b;
    private final Tensor bias; // null without a bias
    private final Tensor initial;
    private final Tensor results; // result, then dBias
    private final Tensor result;
    private final Tensor dBias; // null without a gradient of a bias

    /** An algorithm, and the seconds that it takes. */
    private record Timed(String algorithm, double seconds) { }

    /**
     * Allocates and fills the operands. The workspace is reserved already.
     *
     * @throws org.isobar.device.OutOfDeviceMemoryException if they do not fit
     */
    ProductTrial(Device device, ProductAlgorithms algorithms, ProductShape shape) {
        this.device = device;
        this.algorithms = algorithms;
        this.shape = shape;
        long sizeA = shape.m() * shape.k();
        long sizeB = shape.n() * shape.k();
        long sizeC = shape.m() * shape.n();
        long sums = shape.ending() == Ending.BIAS_GRADIENT ? shape.n() : 0;
        memory = new TrialMemory(device, "trial of a product", TrialMemory.bytes(shape.operands(), sizeA)
            + TrialMemory.bytes(shape.operands(), sizeB) + TrialMemory.bytes(shape.result(), shape.m())
            + 2 * TrialMemory.bytes(shape.result(), sizeC + sums) + 4 * DeviceArena.ALIGNMENT,
            Math.max(sizeC + sums, Math.max(sizeA, sizeB)));
        boolean forward = shape.kind() == Kind.FORWARD;
        a = memory.fill("a", forward ? aligned(shape.operands(), shape.alignmentA(), shape.m(), shape.k())
            : aligned(shape.operands(), shape.alignmentA(), shape.k(), shape.m()));
        b = memory.fill("b", shape.kind() == Kind.WEIGHT_GRADIENT
            ? aligned(shape.operands(), shape.alignmentB(), shape.k(), shape.n())
            : aligned(shape.operands(), shape.alignmentB(), shape.n(), shape.k()));
        bias = shape.ending() == Ending.BIAS ? memory.fill("bias", memory.allocate(shape.result(), shape.m())) : null;
        initial = memory.fill("c", memory.allocate(shape.result(), 1, sizeC + sums));
        results = aligned(shape.result(), shape.alignmentC(), 1, sizeC + sums);
        Tensor flat = results.reshape(sizeC + sums);
        result = flat.slice(0, sizeC).reshape(shape.n(), shape.m());
        dBias = sums == 0 ? null : flat.slice(sizeC, sums);
    }

    /** A tensor whose address is a multiple of {@code alignment} bytes, and of no more. */
    private Tensor aligned(DType dtype, int alignment, long rows, long columns) {
        long skipped = alignment % DeviceArena.ALIGNMENT / dtype.bytes();
        return memory.allocate(dtype, skipped + rows * columns).slice(skipped, rows * columns).reshape(rows, columns);
    }

    private void compute() {
        ProductOps ops = device.ops().products();
        if (shape.kind() == Kind.FORWARD) {
            ops.linear(result, b, a, bias == null ? Epilogue.NONE : new Epilogue.Bias(bias));
        } else if (shape.kind() == Kind.INPUT_GRADIENT) {
            ops.linearBackwardInput(result, b, a, shape.write());
        } else if (dBias == null) {
            ops.linearBackwardWeight(result, b, a);
        } else {
            ops.linearBackwardParameters(result, dBias, b, a);
        }
    }

    /** Computes from the same operands as each time, also where the product is added to the result. */
    private void computeAnew() {
        device.ops().memory().copy(results, initial);
        compute();
    }

    /**
     * Tries the algorithms; the product uses the chosen one afterwards.
     *
     * @param candidates the library's proposals, the preferred one first
     * @param note       receives what is wrong with an algorithm that is faster than the chosen one
     * @throws DeviceException if the preferred algorithm fails
     */
    ProductTimes run(List<String> candidates, Consumer<String> note) {
        String preferred = candidates.getFirst();
        List<Timed> timed = times(candidates, note);
        double limit = timed.getFirst().seconds * (1 - GAIN);
        try (Arena host = Arena.ofConfined()) {
            use(preferred);
            computeAnew();
            MemorySegment expected = memory.download(results, host);
            Timed chosen = timed.stream().filter(one -> one.seconds < limit)
                .sorted(Comparator.comparingDouble(Timed::seconds)).filter(one -> isRight(one, expected, note))
                .findFirst().orElse(timed.getFirst());
            use(chosen.algorithm);
            return new ProductTimes(chosen.algorithm, chosen.seconds, timed.getFirst().seconds);
        }
    }

    private void use(String algorithm) {
        algorithms.use(shape, algorithm).ifPresent(why -> {
            throw new DeviceException(why);
        });
    }

    /** The shortest times of all algorithms that run, in their order. */
    private List<Timed> times(List<String> candidates, Consumer<String> note) {
        List<Timed> timed = new ArrayList<>();
        try (Stopwatch watch = device.stopwatch()) {
            for (String candidate : candidates) {
                try {
                    use(candidate);
                    computeAnew(); // warms up
                    timed.add(new Timed(candidate, seconds(watch)));
                } catch (DeviceException failure) {
                    if (timed.isEmpty()) {
                        throw failure;
                    }
                    note.accept("fails: " + failure.getMessage());
                }
            }
        }
        return timed;
    }

    private double seconds(Stopwatch watch) {
        for (int round = 0; round < ROUNDS; round++) {
            watch.mark();
            for (int i = 0; i < REPEATS; i++) {
                compute();
            }
        }
        watch.mark();
        double[] laps = watch.laps();
        double least = laps[0];
        for (double lap : laps) {
            least = Math.min(least, lap);
        }
        return least / REPEATS;
    }

    private boolean isRight(Timed candidate, MemorySegment expected, Consumer<String> note) {
        use(candidate.algorithm);
        computeAnew();
        try (Arena host = Arena.ofConfined()) {
            MemorySegment found = memory.download(results, host);
            if (!agrees(found, expected)) {
                note.accept("is wrong on this device: " + shape);
                return false;
            }
            computeAnew();
            if (found.mismatch(memory.download(results, host)) >= 0) {
                note.accept("has other bits in a second call: " + shape);
                return false;
            }
            return true;
        }
    }

    private boolean agrees(MemorySegment found, MemorySegment expected) {
        DType type = shape.result();
        double sum = 0;
        for (long i = 0; i < results.elements(); i++) {
            double right = TrialMemory.element(expected, type, i);
            sum += right * right;
        }
        double average = Math.sqrt(sum / results.elements());
        double allowed = ROUNDINGS * TrialMemory.roundoff(type) + shape.k() * TrialMemory.roundoff(DType.F32);
        for (long i = 0; i < results.elements(); i++) {
            double right = TrialMemory.element(expected, type, i);
            if (!(Math.abs(TrialMemory.element(found, type, i) - right) <= allowed * (Math.abs(right) + average))) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void close() {
        memory.close();
    }
}
