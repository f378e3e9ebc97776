package org.isobar.backend.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.function.LongToDoubleFunction;

import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** Tensors in host memory, freed with the last reference to them. */
public final class HostTensors {
    private HostTensors() { }

    /** A one-dimensional tensor of {@code elements} values {@code value(i)}. */
    public static Tensor of(DType dtype, long elements, LongToDoubleFunction value) {
        HostStorage memory = new HostStorage(Arena.ofAuto().allocate(elements * dtype.bytes(), 64));
        for (long i = 0; i < elements; i++) {
            double element = value.applyAsDouble(i);
            switch (dtype) {
                case BF16 -> memory.segment().setAtIndex(ValueLayout.JAVA_SHORT, i, (short) dtype.bits(element));
                case F32 -> memory.segment().setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) element);
                default -> memory.segment().setAtIndex(ValueLayout.JAVA_DOUBLE, i, element);
            }
        }
        return new Tensor(memory, 0, dtype, Shape.of(elements));
    }

    /** A single-precision tensor of the given values. */
    public static Tensor f32(double... values) {
        return of(DType.F32, values.length, i -> values[(int) i]);
    }

    /** The values of a tensor. */
    public static double[] values(Tensor tensor) {
        MemorySegment memory = HostStorage.of(tensor);
        double[] values = new double[(int) tensor.elements()];
        Arrays.setAll(values, i -> switch (tensor.dtype()) {
            case BF16 -> Float.intBitsToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT, i) << Short.SIZE);
            case F32 -> memory.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            default -> memory.getAtIndex(ValueLayout.JAVA_DOUBLE, i);
        });
        return values;
    }
}
