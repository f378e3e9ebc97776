package org.isobar.train.engine;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.ToDoubleBiFunction;
import java.util.stream.DoubleStream;
import java.util.stream.LongStream;

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
 * <p>Two right results differ by the rounding of the result, by that of a sum of k terms in single precision, for which
 * k roundoffs are allowed (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), and by that of the
 * operands to TF32, which algorithms may do in different ways. A number is also granted that fraction of the root mean
 * square of all numbers, because sums cancel.
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
            + 2 * TrialMemory.bytes(shape.result(), sizeC + sums) + 4 * DeviceArena.ALIGNMENT);
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
        List<Timed> faster = timed.stream().filter(one -> one.seconds < limit)
            .sorted(Comparator.comparingDouble(Timed::seconds)).toList();
        Timed chosen = faster.isEmpty() ? timed.getFirst()
            : firstRight(faster, preferred, note).orElse(timed.getFirst());
        use(chosen.algorithm);
        return new ProductTimes(chosen.algorithm, chosen.seconds, timed.getFirst().seconds);
    }

    private Optional<Timed> firstRight(List<Timed> candidates, String preferred, Consumer<String> note) {
        try (Arena host = Arena.ofShared()) { // of all threads, which compare together
            Outcome outcome = new Outcome(host, preferred);
            return candidates.stream().filter(one -> outcome.isRight(one, note)).findFirst();
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

    /** Results on the host: those of the preferred algorithm, and of the one that is looked at. */
    private final class Outcome {
        private static final long PIECE = 1 << 16; // elements that a thread compares at a time

        private final MemorySegment expected;
        private final MemorySegment found;
        private final MemorySegment again;
        private final double average;

        Outcome(Arena host, String preferred) {
            expected = host.allocate(results.bytes(), Double.BYTES);
            found = host.allocate(results.bytes(), Double.BYTES);
            again = host.allocate(results.bytes(), Double.BYTES);
            read(preferred, expected);
            average = Math.sqrt(pieces((from, to) -> {
                double sum = 0;
                for (long i = from; i < to; i++) {
                    double right = TrialMemory.element(expected, shape.result(), i);
                    sum += right * right;
                }
                return sum;
            }).sum() / results.elements());
        }

        private void read(String algorithm, MemorySegment to) {
            use(algorithm);
            computeAnew();
            device.download(to, results);
        }

        /** What {@code function} gives for each piece of the results. */
        private DoubleStream pieces(ToDoubleBiFunction<Long, Long> function) {
            return LongStream.range(0, Math.ceilDiv(results.elements(), PIECE)).parallel().mapToDouble(piece ->
                function.applyAsDouble(piece * PIECE, Math.min(results.elements(), (piece + 1) * PIECE)));
        }

        boolean isRight(Timed candidate, Consumer<String> note) {
            read(candidate.algorithm, found);
            double allowed = ROUNDINGS * TrialMemory.roundoff(shape.result())
                + shape.k() * TrialMemory.roundoff(DType.F32)
                + 2 * ROUNDINGS * device.operandRoundoff(shape.operands());
            double worst = pieces(this::deviation).max().orElse(0);
            if (!(worst <= allowed)) { // also a NaN
                note.accept(String.format(Locale.ROOT, "is wrong on this device, by %.1e, and %.1e are allowed: %s",
                    worst, allowed, shape));
                return false;
            }
            read(candidate.algorithm, again);
            if (found.mismatch(again) >= 0) {
                note.accept("has other bits in a second call: " + shape);
                return false;
            }
            return true;
        }

        /** The largest relative deviation of a number. */
        private double deviation(long from, long to) {
            double worst = 0;
            for (long i = from; i < to; i++) {
                double right = TrialMemory.element(expected, shape.result(), i);
                worst = Math.max(worst, Math.abs(TrialMemory.element(found, shape.result(), i) - right)
                    / (Math.abs(right) + average));
            }
            return worst;
        }
    }

    @Override
    public void close() {
        memory.close();
    }
}
