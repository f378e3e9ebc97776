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
 * All parameters of a model, in flat ranges of the same layout: values, gradients and, where products are computed in
 * half precision, a copy of the values in that type. They lie in reverse order of declaration, which is the order in
 * which backward completes them, so that consecutive gradients can be reduced together while backward goes on.
 *
 * <p>Layers declare first; {@link #bind} then gives every parameter its place.
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
     * @param shape      under which this rank's operations see it
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

    /** {@link #bind(Tensor, Tensor, Tensor)} for products in single precision. */
    public void bind(Tensor flatValues, Tensor flatGradients) {
        bind(flatValues, flatValues, flatGradients);
    }

    /**
     * Gives every parameter its place in the ranges of {@link #elements} elements.
     *
     * @param flatValues    F32
     * @param flatCopies    of the type that products are computed in; {@code flatValues} itself where that is F32
     * @param flatGradients F32
     */
    public void bind(Tensor flatValues, Tensor flatCopies, Tensor flatGradients) {
        values = flatValues;
        copies = flatCopies;
        gradients = flatGradients;
        long offset = elements();
        for (Parameter parameter : declared) {
            Shape shape = parameter.shape();
            offset -= align(shape.elements());
            parameter.bind(view(values, offset, shape), view(copies, offset, shape), view(gradients, offset, shape));
        }
    }

    /** Casts the values to the copies again. Code that writes values calls it; the optimizer writes both itself. */
    public void refresh(TensorOps ops) {
        if (!copies.aliases(values)) {
            ops.memory().cast(copies, values);
        }
    }

    /** The flat range of values, padding included. */
    public Tensor values() {
        return values;
    }

    /** The flat range of values as products read them, padding included; {@link #values} itself where that is F32. */
    public Tensor copies() {
        return copies;
    }

    /** The flat range of gradients, padding included. */
    public Tensor gradients() {
        return gradients;
    }

    /** All parameters, in the order of declaration. */
    public List<Parameter> parameters() {
        return List.copyOf(declared);
    }

    /**
     * Where each parameter, padding included, lies in the flat ranges, in the order of {@link #parameters}, and the
     * axes over which its gradient is reduced.
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

    /** This rank's values of every weight by its {@code state_dict} name: the whole weight where it is not cut. */
    public Map<String, Tensor> stateDict() {
        return named(values);
    }

    /** This rank's gradients of every weight by its {@code state_dict} name. */
    public Map<String, Tensor> gradientDict() {
        return named(gradients);
    }

    /** What belongs to every weight in a flat range of this layout, F32, by the weight's {@code state_dict} name. */
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
     * Sets the initial weights and clears the gradients. A weight depends on seed, name and index alone, so every
     * layout of ranks starts from the same bits.
     */
    public void initialize(Device device, long seed) {
        device.ops().memory().fill(values, 0);
        device.ops().memory().fill(gradients, 0);
        for (Parameter parameter : declared) {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment host = arena.allocate(parameter.value().bytes(), Long.BYTES);
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
