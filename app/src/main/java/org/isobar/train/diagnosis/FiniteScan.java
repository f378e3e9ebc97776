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
 * Looks over tensors one after the other, such as the outputs of layers: which is the first that holds a number that is
 * not finite, and where the largest magnitude is up to there. Reads them on the host, piece by piece: not for every
 * step.
 */
final class FiniteScan implements Pass.Inspector {
    private static final int PIECE = 1 << 18; // elements

    private final Device device;
    private final MemorySegment piece = MemorySegment.ofArray(new long[PIECE]);
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
        for (long from = 0; from < flat.elements(); from += PIECE) {
            Tensor some = flat.slice(from, Math.min(PIECE, flat.elements() - from));
            device.download(piece.asSlice(0, some.bytes()), some);
            look(some, from, y.shape().extent(-1), parts, before);
        }
    }

    /** @param from what the first of these elements is in rows of {@code width} */
    private void look(Tensor some, long from, long width, List<String> parts, int before) {
        for (int i = 0; i < some.elements(); i++) {
            double magnitude = Math.abs(value(some.dtype(), i));
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

    private double value(DType dtype, int index) {
        return switch (dtype) {
            case F16 -> Float.float16ToFloat(piece.getAtIndex(ValueLayout.JAVA_SHORT, index));
            case BF16 -> Float.intBitsToFloat(piece.getAtIndex(ValueLayout.JAVA_SHORT, index) << Short.SIZE);
            case F32 -> piece.getAtIndex(ValueLayout.JAVA_FLOAT, index);
            case F64 -> piece.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
        };
    }

    /** Names of all tensors so far. */
    List<String> names() {
        return names;
    }

    /** Place among {@link #names} of the first that is not finite, or -1. */
    int first() {
        return first;
    }

    /** Its name. */
    Optional<String> firstName() {
        return first < 0 ? Optional.empty() : Optional.of(names.get(first));
    }

    /** The largest finite magnitude of the tensors before the first that is not finite, and of its own. */
    Peak peak() {
        return peak;
    }
}
