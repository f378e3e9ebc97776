package org.isobar.forecast;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

import org.isobar.data.CropWindow;
import org.isobar.data.NonFiniteValue;
import org.isobar.data.Normalization;

/** Converts normalized predictions to the units of the data. */
final class PhysicalFields {
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
            double spread = normalization.spreads()[channel];
            double mean = normalization.means()[channel];
            for (long i = channel * pixels; i < (channel + 1) * pixels; i++) {
                float value = (float) (fields.getAtIndex(ValueLayout.JAVA_FLOAT, i) * spread + mean);
                finite &= Float.isFinite(value);
                fields.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
            }
        }
        return finite ? Optional.empty() : NonFiniteValue.find(fields, window);
    }
}
