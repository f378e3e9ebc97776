package org.isobar.verify;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;

import org.isobar.device.Device;
import org.isobar.device.TensorOps;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * Where one case is tried: it lays out tensors between guards, fills them with seeded numbers or with poison, and
 * afterwards compares results with what is expected and everything else with what it was.
 */
public final class Bench implements AutoCloseable {
    private static final long ARENA_BYTES = 8L << 20;
    private static final long SEED = 20;

    private final Device device;
    private final String caseName;
    private final org.isobar.device.Arena arena;
    private final Arena host = Arena.ofConfined();
    private final List<Probe> probes = new ArrayList<>();

    Bench(Device device, String caseName) {
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

    /** An F32 tensor of random numbers that the operation must leave as it is. */
    Probe input(String name, long... extents) {
        return input(name, random(name, Shape.of(extents).elements()), extents);
    }

    /** An F32 tensor of given numbers that the operation must leave as it is. */
    Probe input(String name, double[] values, long... extents) {
        return probe(name, false, DType.F32, values, extents);
    }

    /** An F64 tensor of given numbers that the operation must leave as it is. */
    Probe inputF64(String name, double[] values, long... extents) {
        return probe(name, false, DType.F64, values, extents);
    }

    /** An F32 tensor of random numbers that the operation adds to or works on in place. */
    Probe inOut(String name, long... extents) {
        return inOut(name, random(name, Shape.of(extents).elements()), extents);
    }

    /** An F32 tensor of given numbers that the operation adds to or works on in place. */
    Probe inOut(String name, double[] values, long... extents) {
        return probe(name, true, DType.F32, values, extents);
    }

    /** An F32 tensor of poison that the operation must overwrite without reading. */
    Probe output(String name, long... extents) {
        return output(name, DType.F32, extents);
    }

    /** A tensor of poison that the operation must overwrite without reading. */
    Probe output(String name, DType dtype, long... extents) {
        double[] poison = new double[Math.toIntExact(Shape.of(extents).elements())];
        Arrays.fill(poison, Double.NaN);
        return probe(name, true, dtype, poison, extents);
    }

    private Probe probe(String name, boolean written, DType dtype, double[] values, long... extents) {
        Probe probe = new Probe(name, written, arena, host, dtype, Shape.of(extents));
        probe.put(device, values);
        probes.add(probe);
        return probe;
    }

    /** Compares a result with what is expected, element by element. */
    void expect(Probe probe, Expected expected) {
        double[] found = probe.elements(probe.take(device, host));
        double unit = probe.tensor().dtype() == DType.F32 ? 0x1p-24 : 0x1p-53;
        int wrong = 0;
        int worst = -1;
        double worstRatio = 0;
        for (int i = 0; i < found.length; i++) {
            double error = Math.abs(found[i] - expected.value(i));
            double tolerance = expected.tolerance(i, unit);
            if (!(error <= tolerance)) {
                wrong++;
                double ratio = Double.isNaN(error) ? Double.POSITIVE_INFINITY : error / tolerance;
                if (worst < 0 || ratio > worstRatio) {
                    worst = i;
                    worstRatio = ratio;
                }
            }
        }
        if (wrong > 0) {
            throw violation(probe, wrong + " of " + found.length + " elements are wrong; at " + worst + " expected "
                + expected.value(worst) + " +- " + expected.tolerance(worst, unit) + ", found " + found[worst]);
        }
    }

    /** Checks that nothing else was written; returns a digest of everything that lies in memory now. */
    long finish() {
        CRC32C digest = new CRC32C();
        for (Probe probe : probes) {
            MemorySegment now = probe.take(device, host);
            probe.trespass(now).ifPresent(at -> {
                throw violation(probe, "byte " + at + " of " + probe.tensor().bytes()
                    + (probe.written() ? " lies outside and was written" : " was written, but is only to be read"));
            });
            digest.update(now.asByteBuffer());
        }
        return digest.getValue();
    }

    private ContractViolation violation(Probe probe, String what) {
        return new ContractViolation(device.description() + ": " + caseName + ": " + probe.name() + " "
            + probe.tensor().shape() + ": " + what);
    }

    @Override
    public void close() {
        host.close();
        arena.close();
    }
}
