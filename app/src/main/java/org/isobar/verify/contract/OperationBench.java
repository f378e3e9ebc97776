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
 * Runs one contract case on a device. It places operands between guards and fills them with seeded random numbers or
 * poison. Afterwards it compares results with their expected values and checks that all other memory is unchanged.
 */
public final class OperationBench implements AutoCloseable {
    private static final long ARENA_BYTES = 8L << 20;
    private static final long SEED = 20;

    private final Device device;
    private final String caseName;
    private final OperandTypes types;
    private final org.isobar.device.DeviceArena arena;
    private final Arena host = Arena.ofConfined();
    private final List<GuardedTensor> probes = new ArrayList<>();

    OperationBench(Device device, String caseName, OperandTypes types) {
        this.device = device;
        this.caseName = caseName;
        this.types = types;
        arena = device.arena("verify", ARENA_BYTES);
    }

    /** The operations under test. */
    TensorOps ops() {
        return device.ops();
    }

    /** Standard normal numbers, a function of the case and {@code name}. */
    double[] random(String name, long count) {
        Philox.Key key = Philox.Key.of(SEED, caseName + "/" + name);
        float[] normals = Philox.normals(key, Math.toIntExact(count), 1);
        double[] numbers = new double[normals.length];
        Arrays.setAll(numbers, i -> normals[i]);
        return numbers;
    }

    /** The largest relative rounding error that products apply to that operand. */
    double operandRoundoff(String operand) {
        return device.operandRoundoff(types.of(operand));
    }

    /** A product that something is added to before it is stored in that operand. */
    ExpectedTensor addend(ExpectedTensor product, String result) {
        return device.roundsBeforeAdding() ? product.roundedTo(types.of(result)) : product;
    }

    /** An operand of random numbers that the operation must leave as it is. */
    GuardedTensor input(String name, long... extents) {
        return input(name, random(name, Shape.of(extents).elements()), extents);
    }

    /** An operand of given numbers, rounded to its type, that the operation must leave as it is. */
    GuardedTensor input(String name, double[] values, long... extents) {
        return probe(name, false, values, extents);
    }

    /** An operand of random numbers that the operation adds to or works on in place. */
    GuardedTensor inOut(String name, long... extents) {
        return inOut(name, random(name, Shape.of(extents).elements()), extents);
    }

    /** An operand of given numbers, rounded to its type, that the operation adds to or works on in place. */
    GuardedTensor inOut(String name, double[] values, long... extents) {
        return probe(name, true, values, extents);
    }

    /** An operand filled with poison that the operation must overwrite without reading. */
    GuardedTensor output(String name, long... extents) {
        double[] poison = new double[Math.toIntExact(Shape.of(extents).elements())];
        Arrays.fill(poison, Double.NaN);
        return probe(name, true, poison, extents);
    }

    private GuardedTensor probe(String name, boolean written, double[] values, long... extents) {
        GuardedTensor probe = new GuardedTensor(name, written, arena, host, types.of(name), Shape.of(extents));
        probe.put(device, values);
        probes.add(probe);
        return probe;
    }

    /** The current contents of the tensor. */
    double[] found(GuardedTensor probe) {
        return probe.elements(probe.take(device, host));
    }

    /** Compares a result with its expected values, element by element. */
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

    /** Checks that nothing else was written and returns a digest of all current contents. */
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
