package org.isobar.train.engine;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.device.AttentionEngine;
import org.isobar.device.Device;
import org.isobar.device.Stopwatch;
import org.isobar.device.ops.AttentionOps;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * A trial of both engines on attention of one shape: forward and backward on the same pseudo-random inputs. Results
 * must agree, the library must give the same bits twice, and both are timed.
 *
 * <p>Either engine rounds three times to the type of the operands: the probabilities or the gradients of the scores,
 * the output that backward reads, and the result. These errors are independent, so the difference of two right results
 * has a norm of about two roundoffs of the result's norm. {@value #BOUND} roundoffs are allowed, for a whole result and
 * for each row of a head; a row is also granted that fraction of the average row, because sums cancel.
 */
final class AttentionTrial implements AutoCloseable {
    private static final double BOUND = 4;
    /** Log-sum-exps are sums in single precision. */
    private static final double STATISTICS_BOUND = 1e-3;
    private static final int ROUNDS = 3;

    private final Device device;
    private final AttentionEngine engine;
    private final AttentionShape shape;
    private final DType compute;
    private final TrialMemory memory;
    private final Tensor q;
    private final Tensor kv;
    private final Tensor dOut;
    private final Results own;
    private final Results library;

    /** Outputs of both directions. */
    private record Results(Tensor out, Tensor lse, Tensor dq, Tensor dkv) {
        List<Tensor> all() {
            return List.of(out, lse, dq, dkv);
        }
    }

    private static final List<String> NAMES =
        List.of("the output", "the log-sum-exp", "the gradient of queries", "the gradient of keys and values");

    /**
     * Allocates and fills the inputs. The workspace is reserved already.
     *
     * @throws org.isobar.device.OutOfDeviceMemoryException if they do not fit
     */
    AttentionTrial(Device device, AttentionEngine engine, AttentionShape shape, DType compute) {
        this.device = device;
        this.engine = engine;
        this.shape = shape;
        this.compute = compute;
        long queries = shape.batch() * shape.queries() * shape.heads() * shape.headDim();
        long keys = 2 * shape.batch() * shape.keys() * shape.heads() * shape.headDim();
        long statistics = shape.batch() * shape.heads() * shape.queries();
        memory = new TrialMemory(device, "trial of attention", 6 * TrialMemory.bytes(compute, queries)
            + 3 * TrialMemory.bytes(compute, keys) + 2 * TrialMemory.bytes(DType.F32, statistics));
        q = memory.fill("q", allocate(shape.queries()));
        dOut = memory.fill("dOut", allocate(shape.queries()));
        kv = memory.fill("kv", allocate(2 * shape.keys()))
            .reshape(shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim());
        own = results();
        library = results();
    }

    private Results results() {
        return new Results(allocate(shape.queries()),
            memory.allocate(DType.F32, shape.batch(), shape.heads(), shape.queries()), allocate(shape.queries()),
            allocate(2 * shape.keys()).reshape(shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim()));
    }

    private Tensor allocate(long rows) {
        return memory.allocate(compute, shape.batch(), rows, shape.heads(), shape.headDim());
    }

    private void compute(Results to, boolean byLibrary) {
        engine.enable(byLibrary);
        try {
            AttentionOps ops = device.ops().attention();
            ops.attention(to.out, to.lse, q, kv, shape, Dropout.NONE);
            ops.attentionBackward(to.dq, to.dkv, dOut, q, kv, to.out, to.lse, shape, Dropout.NONE);
        } finally {
            engine.enable(false);
        }
    }

    /**
     * Compares the results.
     *
     * @param sameBits whether the library must give the same bits twice
     * @return what is wrong with the library's, with figures; empty if nothing is
     */
    Optional<String> mismatch(boolean sameBits) {
        compute(own, false);
        compute(library, true);
        Optional<String> wrong = Optional.empty();
        for (int i = 0; wrong.isEmpty() && i < library.all().size(); i++) {
            wrong = wrong(i);
        }
        if (wrong.isPresent() || !sameBits) {
            return wrong;
        }
        List<Long> first = library.all().stream().map(memory::digest).toList();
        compute(library, true);
        List<Long> second = library.all().stream().map(memory::digest).toList();
        return IntStream.range(0, first.size()).filter(i -> !first.get(i).equals(second.get(i)))
            .mapToObj(i -> NAMES.get(i) + " has other bits in a second call").findFirst();
    }

    private Optional<String> wrong(int result) {
        try (Arena host = Arena.ofConfined()) {
            MemorySegment found = memory.download(library.all().get(result), host);
            MemorySegment expected = memory.download(own.all().get(result), host);
            return switch (result) {
                case 1 -> named(NAMES.get(result), statistics(found, expected));
                case 3 -> named("the gradient of keys", deviation(found, expected, 0, 2))
                    .or(() -> named("the gradient of values", deviation(found, expected, 1, 2)));
                default -> named(NAMES.get(result), deviation(found, expected, 0, 1));
            };
        }
    }

    private static Optional<String> named(String name, Optional<String> deviation) {
        return deviation.map(figures -> name + " " + figures);
    }

    private Optional<String> statistics(MemorySegment found, MemorySegment expected) {
        double worst = 0;
        for (long i = 0; i < found.byteSize() / Float.BYTES; i++) {
            double right = expected.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            double error = Math.abs(found.getAtIndex(ValueLayout.JAVA_FLOAT, i) - right) / (1 + Math.abs(right));
            worst = Math.max(worst, error); // also a NaN
        }
        return worst <= STATISTICS_BOUND ? Optional.empty()
            : Optional.of(String.format(Locale.ROOT, "differs by %.1e, allowed %.1e", worst, STATISTICS_BOUND));
    }

    /**
     * Compares the rows of one part of a result.
     *
     * @param part  0, or of the gradient of keys and values: 0 for keys, 1 for values
     * @param parts number of parts, which alternate with the tokens
     */
    private Optional<String> deviation(MemorySegment found, MemorySegment expected, int part, int parts) {
        int width = (int) shape.headDim();
        int rows = Math.toIntExact(found.byteSize() / compute.bytes() / width);
        double[] errors = new double[rows];
        double[] norms = new double[rows];
        for (int row = 0; row < rows; row++) {
            if (row / shape.heads() % parts == part) {
                for (long i = (long) row * width; i < (row + 1L) * width; i++) {
                    double right = TrialMemory.element(expected, compute, i);
                    double difference = TrialMemory.element(found, compute, i) - right;
                    errors[row] += difference * difference;
                    norms[row] += right * right;
                }
            }
        }
        double allowed = BOUND * TrialMemory.roundoff(compute);
        double error = Math.sqrt(Arrays.stream(errors).sum());
        double norm = Math.sqrt(Arrays.stream(norms).sum());
        if (!(error <= allowed * norm)) {
            return Optional.of(String.format(Locale.ROOT, "differs by %.1e of its norm, allowed %.1e", error / norm,
                allowed));
        }
        double average = norm / Math.sqrt((double) rows / parts);
        for (int row = 0; row < rows; row++) {
            if (!(Math.sqrt(errors[row]) <= allowed * (Math.sqrt(norms[row]) + average))) {
                return Optional.of(String.format(Locale.ROOT, "differs in row %d by %.1e of its norm, allowed %.1e",
                    row, Math.sqrt(errors[row] / norms[row]), allowed));
            }
        }
        return Optional.empty();
    }

    /** Times both engines in turn; the shortest time of each. */
    AttentionTimes times() {
        try (Stopwatch watch = device.stopwatch()) {
            for (int round = 0; round < ROUNDS; round++) {
                watch.mark();
                compute(own, false);
                watch.mark();
                compute(library, true);
            }
            watch.mark();
            double[] laps = watch.laps();
            AttentionTimes best = new AttentionTimes(laps[0], laps[1]);
            for (int lap = 2; lap < laps.length; lap += 2) {
                best = new AttentionTimes(Math.min(best.own(), laps[lap]), Math.min(best.library(), laps[lap + 1]));
            }
            return best;
        }
    }

    @Override
    public void close() {
        memory.close();
    }
}
