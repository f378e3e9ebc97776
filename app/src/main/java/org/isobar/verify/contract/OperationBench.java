package org.isobar.verify.contract;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;

import org.isobar.device.Device;
import org.isobar.device.ops.TensorOps;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.verify.reference.ExpectedTensor;

/**
 * Where one case is tried: it lays out tensors between guards, fills them with seeded numbers or with poison, and
 * afterwards compares results with what is expected and everything else with what it was.
 */
public final class OperationBench implements AutoCloseable {
    private static final long ARENA_BYTES = 8L << 20;
    private static final long SEED = 20;

    private final Device device;
    private final String caseName;
    private final org.isobar.device.DeviceArena arena;
    private final Arena host = Arena.ofConfined();
    private final List<GuardedTensor> probes = new ArrayList<>();

    OperationBench(Device device, String caseName) {
        this.device = device;
        this.caseName = caseName;
        arena = device.arena("verify", ARENA_BYTES);
    }

    /** The operations under test. */
    TensorOps ops() {
        return device.ops();
    }

    /** Standard normal numbers, a function of the case and {@code name}. */
    double[] random(String name, long count) {
        Philox.Key key = Philox.Key.of(SEED, caseName + "/" + name);
        double[] numbers = new double[Math.toIntExact(count)];
        Arrays.setAll(numbers, i -> (float) Philox.normal(key, i));
        return numbers;
    }

    /** Largest relative error with which products take in an operand of that type. */
    double operandRoundoff(DType dtype) {
        return device.operandRoundoff(dtype);
    }

    /** An F32 tensor of random numbers that the operation must leave as it is. */
    GuardedTensor input(String name, long... extents) {
        return input(DType.F32, name, extents);
    }

    /** A tensor of random numbers that the operation must leave as it is. */
    GuardedTensor input(DType dtype, String name, long... extents) {
        return input(dtype, name, random(name, Shape.of(extents).elements()), extents);
    }

    /** An F32 tensor of given numbers that the operation must leave as it is. */
    GuardedTensor input(String name, double[] values, long... extents) {
        return input(DType.F32, name, values, extents);
    }

    /** A tensor of given numbers, rounded to its type, that the operation must leave as it is. */
    GuardedTensor input(DType dtype, String name, double[] values, long... extents) {
        return probe(name, false, dtype, values, extents);
    }

    /** An F32 tensor of random numbers that the operation adds to or works on in place. */
    GuardedTensor inOut(String name, long... extents) {
        return inOut(DType.F32, name, extents);
    }

    /** A tensor of random numbers that the operation adds to or works on in place. */
    GuardedTensor inOut(DType dtype, String name, long... extents) {
        return inOut(dtype, name, random(name, Shape.of(extents).elements()), extents);
    }

    /** A tensor of given numbers, rounded to its type, that the operation adds to or works on in place. */
    GuardedTensor inOut(DType dtype, String name, double[] values, long... extents) {
        return probe(name, true, dtype, values, extents);
    }

    /** An F32 tensor of poison that the operation must overwrite without reading. */
    GuardedTensor output(String name, long... extents) {
        return output(DType.F32, name, extents);
    }

    /** A tensor of poison that the operation must overwrite without reading. */
    GuardedTensor output(DType dtype, String name, long... extents) {
        double[] poison = new double[Math.toIntExact(Shape.of(extents).elements())];
        Arrays.fill(poison, Double.NaN);
        return probe(name, true, dtype, poison, extents);
    }

    private GuardedTensor probe(String name, boolean written, DType dtype, double[] values, long... extents) {
        GuardedTensor probe = new GuardedTensor(name, written, arena, host, dtype, Shape.of(extents));
        probe.put(device, values);
        probes.add(probe);
        return probe;
    }

    /** What the tensor holds now. */
    double[] found(GuardedTensor probe) {
        return probe.elements(probe.take(device, host));
    }

    /** Compares a result with what is expected, element by element. */
    void expect(GuardedTensor probe, ExpectedTensor expected) {
        double[] found = found(probe);
        DType dtype = probe.tensor().dtype();
        int[] wrong = IntStream.range(0, found.length).filter(i -> !expected.allows(i, found[i], dtype)).toArray();
        if (wrong.length > 0) {
            int worst = wrong[0];
            for (int i : wrong) {
                worst = expected.excess(i, found[i]) > expected.excess(worst, found[worst]) ? i : worst;
            }
            throw violation(probe, wrong.length + " of " + found.length + " elements are wrong; at " + worst
                + " expected " + expected.describe(worst, dtype) + ", found " + found[worst]);
        }
    }

    /** Checks that nothing else was written; returns a digest of everything that lies in memory now. */
    long finish() {
        CRC32C digest = new CRC32C();
        for (GuardedTensor probe : probes) {
            MemorySegment now = probe.take(device, host);
            probe.trespass(now).ifPresent(at -> {
                throw violation(probe, "byte " + at + " of " + probe.tensor().bytes()
                    + (probe.written() ? " lies outside and was written" : " was written, but is only to be read"));
            });
            digest.update(now.asByteBuffer());
        }
        return digest.getValue();
    }

    private ContractViolation violation(GuardedTensor probe, String what) {
        return new ContractViolation(device.description() + ": " + caseName + ": " + probe.name() + " "
            + probe.tensor().dtype() + " " + probe.tensor().shape() + ": " + what);
    }

    @Override
    public void close() {
        host.close();
        arena.close();
    }
}
