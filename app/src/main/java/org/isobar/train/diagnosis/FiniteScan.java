package org.isobar.train.diagnosis;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.device.Device;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Scans a sequence of tensors, such as the outputs of layers, for the first one with a non-finite value, and for the
 * largest finite magnitude up to that tensor. The scan copies the tensors to the host in chunks, so it is too slow for
 * every training step.
 */
final class FiniteScan implements Pass.Inspector {
    private static final int CHUNK = 1 << 18; // elements

    private final Device device;
    private final MemorySegment host = MemorySegment.ofArray(new long[CHUNK]);
    private final List<String> names = new ArrayList<>();
    private int first = -1;
    private Peak peak = new Peak("", 0);

    /** The largest magnitude, and the tensor that holds it. */
    record Peak(String name, double magnitude) { }

    FiniteScan(Device device) {
        this.device = device;
    }

    @Override
    public void output(List<String> parts, Tensor y) {
        int before = names.size();
        names.addAll(parts);
        if (first >= 0) {
            return;
        }
        Tensor flat = y.reshape(y.elements());
        for (long from = 0; from < flat.elements(); from += CHUNK) {
            Tensor chunk = flat.slice(from, Math.min(CHUNK, flat.elements() - from));
            device.download(host.asSlice(0, chunk.bytes()), chunk);
            if (!(largest(chunk) <= peak.magnitude())) {
                scan(chunk, from, y.shape().extent(-1), parts, before);
            }
        }
    }

    /**
     * Scans a chunk, whose elements are in host memory. Each row of the tensor has equal segments, one for each of
     * {@code parts}.
     *
     * @param from   index of the chunk's first element in the flat tensor
     * @param width  length of a row
     * @param before number of names before {@code parts}
     */
    private void scan(Tensor chunk, long from, long width, List<String> parts, int before) {
        for (int i = 0; i < chunk.elements(); i++) {
            double magnitude = Math.abs(number(chunk.dtype(), bits(chunk.dtype(), i)));
            if (magnitude > peak.magnitude() || !Double.isFinite(magnitude)) {
                int part = (int) ((from + i) % width * parts.size() / width);
                if (Double.isFinite(magnitude)) {
                    peak = new Peak(parts.get(part), magnitude);
                } else {
                    first = first < 0 ? before + part : Math.min(first, before + part);
                }
            }
        }
    }

    /**
     * The largest magnitude of a chunk, whose elements are in host memory; infinite or NaN if one of them is. As
     * integers, the bits without the sign are in the order of the magnitudes, and infinity and NaN are the largest.
     */
    private double largest(Tensor chunk) {
        DType dtype = chunk.dtype();
        long magnitude = (1L << dtype.bytes() * Byte.SIZE - 1) - 1; // all bits but the sign
        int count = Math.toIntExact(chunk.elements());
        long largest = 0;
        for (int i = 0; i < count; i++) {
            largest = Math.max(largest, bits(dtype, i) & magnitude);
        }
        return number(dtype, largest);
    }

    private long bits(DType dtype, int index) {
        return switch (dtype) {
            case F16, BF16 -> host.getAtIndex(ValueLayout.JAVA_SHORT, index);
            case F32 -> host.getAtIndex(ValueLayout.JAVA_INT, index);
            case F64 -> host.getAtIndex(ValueLayout.JAVA_LONG, index);
        };
    }

    private static double number(DType dtype, long bits) {
        return switch (dtype) {
            case F16 -> Float.float16ToFloat((short) bits);
            case BF16 -> Float.intBitsToFloat((int) bits << Short.SIZE);
            case F32 -> Float.intBitsToFloat((int) bits);
            case F64 -> Double.longBitsToDouble(bits);
        };
    }

    /** Names of all tensors so far, in order. */
    List<String> names() {
        return names;
    }

    /** Index in {@link #names} of the first tensor with a non-finite value, or -1. */
    int first() {
        return first;
    }

    /** Name of the first tensor with a non-finite value; empty if all are finite. */
    Optional<String> firstName() {
        return first < 0 ? Optional.empty() : Optional.of(names.get(first));
    }

    /** The largest finite magnitude in all tensors up to and including the first one with a non-finite value. */
    Peak peak() {
        return peak;
    }
}
