package org.isobar.forecast;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.data.CropWindow;
import org.isobar.data.NonFiniteValue;
import org.isobar.data.Normalization;

/** Converts normalized predictions to the units of the data. */
final class PhysicalFields {
    private static final VectorSpecies<Double> F64 = DoubleVector.SPECIES_256;
    private static final VectorSpecies<Float> F32 = FloatVector.SPECIES_128;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private PhysicalFields() { }

    /**
     * Replaces each value x of a channel by {@code x * spread + mean}, computed in double and rounded once.
     *
     * @param fields (channels, height, width), floats in native byte order
     * @return the first value that is not finite; empty if all are
     */
    static Optional<NonFiniteValue.Place> restore(MemorySegment fields, CropWindow window,
        Normalization normalization) {
        boolean finite = true;
        long pixels = (long) window.height() * window.width();
        for (int channel = 0; channel < window.channels(); channel++) {
            finite &= restore(fields.asSlice(channel * pixels * Float.BYTES, pixels * Float.BYTES), pixels,
                normalization.spreads()[channel], normalization.means()[channel]);
        }
        return finite ? Optional.empty() : NonFiniteValue.find(fields, window);
    }

    /** Restores one channel; returns whether all values are finite. */
    private static boolean restore(MemorySegment fields, long pixels, double spread, double mean) {
        FloatVector zeros = FloatVector.zero(F32); // NaN where a value was not finite
        long i = 0;
        for (; i <= pixels - F32.length(); i += F32.length()) {
            DoubleVector x = (DoubleVector) FloatVector.fromMemorySegment(F32, fields, i * Float.BYTES, ORDER)
                .castShape(F64, 0);
            FloatVector value = (FloatVector) x.mul(spread).add(mean).castShape(F32, 0);
            value.intoMemorySegment(fields, i * Float.BYTES, ORDER);
            zeros = zeros.add(value.mul(0));
        }
        boolean finite = zeros.reduceLanes(VectorOperators.ADD) == 0;
        for (; i < pixels; i++) {
            float value = (float) (fields.getAtIndex(ValueLayout.JAVA_FLOAT, i) * spread + mean);
            finite &= Float.isFinite(value);
            fields.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
        return finite;
    }
}
