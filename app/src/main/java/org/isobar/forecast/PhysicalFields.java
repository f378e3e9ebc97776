package org.isobar.forecast;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicBoolean;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.data.CropWindow;
import org.isobar.data.Normalization;
import org.isobar.device.Device;

/** Converts normalized predictions to the units of the data. */
final class PhysicalFields {
    private static final VectorSpecies<Double> F64 = DoubleVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> F32 =
        VectorSpecies.of(float.class, VectorShape.forBitSize(F64.length() * Float.SIZE));
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private PhysicalFields() { }

    /**
     * Writes {@code x * spread + mean} for each value x of a channel, computed in double and rounded once. The
     * device's host threads share the channels.
     *
     * @param normalized (B, channels, height, width), floats in native byte order
     * @param fields     receives as many; may be {@code normalized}
     * @return whether all values are finite
     */
    static boolean restore(Device device, MemorySegment normalized, CropWindow window, Normalization normalization,
            MemorySegment fields) {
        long pixels = (long) window.height() * window.width();
        long bytes = pixels * Float.BYTES;
        int channels = window.channels();
        AtomicBoolean finite = new AtomicBoolean(true);
        device.runOnHost(Math.toIntExact(fields.byteSize() / bytes), each -> {
            if (!restore(normalized.asSlice(each * bytes, bytes), pixels, normalization.spreads()[each % channels],
                normalization.means()[each % channels], fields.asSlice(each * bytes, bytes))) {
                finite.set(false);
            }
        });
        return finite.get();
    }

    /** Restores one channel; returns whether all values are finite. */
    private static boolean restore(MemorySegment normalized, long pixels, double spread, double mean,
            MemorySegment field) {
        FloatVector zeros = FloatVector.zero(F32); // NaN where a value was not finite
        long i = 0;
        for (; i <= pixels - F32.length(); i += F32.length()) {
            DoubleVector x = (DoubleVector) FloatVector.fromMemorySegment(F32, normalized, i * Float.BYTES, ORDER)
                .convertShape(VectorOperators.F2D, F64, 0); // castShape may remain a call in compiled loops
            FloatVector value = (FloatVector) x.mul(spread).add(mean).convertShape(VectorOperators.D2F, F32, 0);
            value.intoMemorySegment(field, i * Float.BYTES, ORDER);
            zeros = zeros.add(value.mul(0));
        }
        boolean finite = zeros.reduceLanes(VectorOperators.ADD) == 0;
        for (; i < pixels; i++) {
            float value = (float) (normalized.getAtIndex(ValueLayout.JAVA_FLOAT, i) * spread + mean);
            finite &= Float.isFinite(value);
            field.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
        return finite;
    }
}
