package org.isobar.nn;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.device.Device;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * All parameters of a model, in two flat ranges: values and gradients. They lie in reverse order of declaration, which
 * is the order in which backward completes them, so that consecutive gradients can be reduced together while backward
 * goes on.
 *
 * <p>Layers declare first; {@link #bind} then gives every parameter its place.
 */
public final class ParameterStore {
    /** Every parameter starts at a multiple of this many elements: whole cache lines. */
    private static final long ALIGNMENT = 64;

    private final List<Parameter> declared = new ArrayList<>();
    private Tensor values;
    private Tensor gradients;

    /** Declares a parameter that is one weight of the {@code state_dict}, seen by operations as {@code shape}. */
    public Parameter declare(Shape shape, Parameter.Part part) {
        return declare(shape, List.of(part));
    }

    /** Declares a parameter made up of several weights. */
    public Parameter declare(Shape shape, List<Parameter.Part> parts) {
        Parameter parameter = new Parameter(shape, parts);
        declared.add(parameter);
        return parameter;
    }

    /** Elements of each flat range, padding included. */
    public long elements() {
        return declared.stream().mapToLong(parameter -> align(parameter.shape().elements())).sum();
    }

    /** Number of learned values, padding not included. */
    public long count() {
        return declared.stream().mapToLong(parameter -> parameter.shape().elements()).sum();
    }

    /** Gives every parameter its place in the two ranges of {@link #elements} single-precision elements. */
    public void bind(Tensor flatValues, Tensor flatGradients) {
        values = flatValues;
        gradients = flatGradients;
        long offset = elements();
        for (Parameter parameter : declared) {
            offset -= align(parameter.shape().elements());
            parameter.bind(view(values, offset, parameter.shape()), view(gradients, offset, parameter.shape()));
        }
    }

    /** The flat range of values, padding included. */
    public Tensor values() {
        return values;
    }

    /** The flat range of gradients, padding included. */
    public Tensor gradients() {
        return gradients;
    }

    /** Values of every weight by its {@code state_dict} name, in its {@code state_dict} shape. */
    public Map<String, Tensor> stateDict() {
        return byName(false);
    }

    /** Gradients of every weight by its {@code state_dict} name, in its {@code state_dict} shape. */
    public Map<String, Tensor> gradientDict() {
        return byName(true);
    }

    /**
     * Sets the initial weights and clears the gradients. A weight depends on seed, name and index alone, so every
     * layout of ranks starts from the same bits.
     */
    public void initialize(Device device, long seed) {
        device.ops().fill(values, 0);
        device.ops().fill(gradients, 0);
        for (Parameter parameter : declared) {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment host = arena.allocate(parameter.value().bytes(), Long.BYTES);
                long offset = 0;
                for (Parameter.Part part : parameter.parts()) {
                    long bytes = part.shape().elements() * DType.F32.bytes();
                    fill(host.asSlice(offset, bytes), part, seed);
                    offset += bytes;
                }
                device.upload(parameter.value(), host);
            }
        }
    }

    private static void fill(MemorySegment host, Parameter.Part part, long seed) {
        Philox.Key key = Philox.Key.of(seed, "initial " + part.name());
        long elements = part.shape().elements();
        int blocksPerChunk = 4096;
        int chunks = Math.toIntExact((elements + 4L * blocksPerChunk - 1) / (4L * blocksPerChunk));
        IntStream.range(0, chunks).parallel().forEach(chunk -> {
            int[] words = new int[4];
            double[] four = new double[4];
            long first = (long) chunk * blocksPerChunk;
            for (long block = first; block < first + blocksPerChunk && 4 * block < elements; block++) {
                part.initializer().fill(key, block, words, four);
                for (long i = 4 * block; i < Math.min(4 * block + 4, elements); i++) {
                    host.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) four[(int) (i & 3)]);
                }
            }
        });
    }

    private Map<String, Tensor> byName(boolean gradient) {
        Map<String, Tensor> named = new LinkedHashMap<>();
        for (Parameter parameter : declared) {
            Tensor whole = gradient ? parameter.gradient() : parameter.value();
            long offset = whole.offset();
            for (Parameter.Part part : parameter.parts()) {
                named.put(part.name(), new Tensor(whole.storage(), offset, whole.dtype(), part.shape()));
                offset += part.shape().elements() * whole.dtype().bytes();
            }
        }
        return named;
    }

    private static Tensor view(Tensor flat, long elementOffset, Shape shape) {
        return new Tensor(flat.storage(), flat.offset() + elementOffset * flat.dtype().bytes(), flat.dtype(), shape);
    }

    private static long align(long elements) {
        return (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}
