package org.isobar.nn;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.isobar.device.Device;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Axis;
import org.isobar.distributed.GradientBuckets;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * All parameters of a model in flat buffers of one layout: values, gradients and, if the compute type is a
 * half-precision type, a copy of the values in that type. Parameters are stored in reverse order of declaration.
 * Backward completes gradients in that order, so consecutive gradients can be reduced together while backward
 * continues.
 *
 * <p>Layers declare their parameters first; {@link #bind} then assigns each parameter its place in the buffers.
 */
public final class ParameterStore {
    /** Every parameter starts at a multiple of this many elements: whole cache lines. */
    private static final long ALIGNMENT = 64;

    private final List<Parameter> declared = new ArrayList<>();
    private Tensor values;
    private Tensor copies;
    private Tensor gradients;

    /**
     * Declares a parameter made up of one or more weights of the {@code state_dict}.
     *
     * @param shape      the shape that this rank's operations use
     * @param reduceOver axes over which its gradient is reduced
     */
    public Parameter declare(Shape shape, List<Parameter.Part> parts, Set<Axis> reduceOver) {
        Parameter parameter = new Parameter(shape, parts, reduceOver);
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

    /** Calls {@link #bind(Tensor, Tensor, Tensor)} for the compute type F32. */
    public void bind(Tensor flatValues, Tensor flatGradients) {
        bind(flatValues, flatValues, flatGradients);
    }

    /**
     * Assigns each parameter its place in the flat ranges, each of {@link #elements} elements.
     *
     * @param flatValues    F32
     * @param flatCopies    of the compute type; {@code flatValues} itself if that is F32
     * @param flatGradients F32; null for a model that is not trained
     */
    public void bind(Tensor flatValues, Tensor flatCopies, Tensor flatGradients) {
        values = flatValues;
        copies = flatCopies;
        gradients = flatGradients;
        long offset = elements();
        for (Parameter parameter : declared) {
            Shape shape = parameter.shape();
            offset -= align(shape.elements());
            parameter.bind(view(values, offset, shape), view(copies, offset, shape),
                gradients == null ? null : view(gradients, offset, shape));
        }
    }

    /** Casts the values to the copies. Call it after writing values; the optimizer writes both itself. */
    public void refresh(TensorOps ops) {
        if (!copies.aliases(values)) {
            ops.memory().cast(copies, values);
        }
    }

    /** The flat range of values, padding included. */
    public Tensor values() {
        return values;
    }

    /** The flat range of values in the compute type, padding included; {@link #values} itself if that is F32. */
    public Tensor copies() {
        return copies;
    }

    /** The flat range of gradients, padding included; null for a model that is not trained. */
    public Tensor gradients() {
        return gradients;
    }

    /** All parameters, in the order of declaration. */
    public List<Parameter> parameters() {
        return List.copyOf(declared);
    }

    /**
     * The position of each parameter in the flat ranges, padding included, and the axes over which its gradient is
     * reduced, in the order of {@link #parameters}.
     */
    public List<GradientBuckets.Range> ranges() {
        List<GradientBuckets.Range> ranges = new ArrayList<>();
        long offset = elements();
        for (Parameter parameter : declared) {
            long length = align(parameter.shape().elements());
            offset -= length;
            ranges.add(new GradientBuckets.Range(offset, length, parameter.reduceOver()));
        }
        return ranges;
    }

    /** This rank's shard of every weight by its {@code state_dict} name: the whole weight if it is not sharded. */
    public Map<String, Tensor> stateDict() {
        return named(values);
    }

    /** This rank's shard of every weight's gradient by its {@code state_dict} name. */
    public Map<String, Tensor> gradientDict() {
        return named(gradients);
    }

    /** Views of {@code flat}, an F32 range of this layout, one for each weight by its {@code state_dict} name. */
    public Map<String, Tensor> named(Tensor flat) {
        Map<String, Tensor> named = new LinkedHashMap<>();
        long end = elements();
        for (Parameter parameter : declared) {
            end -= align(parameter.shape().elements());
            long first = end;
            for (Parameter.Part part : parameter.parts()) {
                named.put(part.name(), view(flat, first, part.local()));
                first += part.local().elements();
            }
        }
        return named;
    }

    /**
     * Sets the initial weights and zeroes the gradients. A weight depends only on seed, name and index, so every
     * parallel layout starts from the same bits.
     */
    public void initialize(Device device, long seed) {
        device.ops().memory().fill(values, 0);
        device.ops().memory().fill(gradients, 0);
        long largest = declared.stream().mapToLong(parameter -> parameter.value().bytes()).max().orElse(0);
        try (Arena arena = Arena.ofShared()) { // one for all: to close it stops every thread of the process briefly
            MemorySegment memory = arena.allocate(largest, Long.BYTES);
            for (Parameter parameter : declared) {
                MemorySegment host = memory.asSlice(0, parameter.value().bytes());
                long offset = 0;
                for (Parameter.Part part : parameter.parts()) {
                    long bytes = part.local().elements() * DType.F32.bytes();
                    InitialWeights.fill(host.asSlice(offset, bytes), part, seed);
                    offset += bytes;
                }
                device.upload(parameter.value(), host);
            }
        }
        refresh(device.ops());
    }

    private static Tensor view(Tensor flat, long elementOffset, Shape shape) {
        return new Tensor(flat.storage(), flat.offset() + elementOffset * flat.dtype().bytes(), flat.dtype(), shape);
    }

    private static long align(long elements) {
        return (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}
