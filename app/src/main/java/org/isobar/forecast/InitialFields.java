package org.isobar.forecast;

import java.lang.foreign.MemorySegment;

import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.fault.UserException;

/** Supplies the fields that forecasts start from. Several threads read at once. */
public interface InitialFields {
    /**
     * Writes the normalized fields of a time, (Cin, H, W), floats, at a byte offset of {@code target}.
     *
     * @throws UserException if there are no such fields, or a value is not finite
     */
    void read(StartTime start, MemorySegment target, long offset);

    /** The fields of {@link ForecastModel#inputs}, followed by the model's extra channels. */
    static InitialFields of(Era5Frames frames, ForecastModel model) {
        Normalization normalization = model.normalization();
        return (start, target, offset) -> {
            frames.read(start.year(), start.frame(), normalization, target, offset);
            model.extra().write(start.time(), normalization.means(), normalization.spreads(),
                frames.window().channels(), target, offset);
            frames.firstNonFinite(start.year(), start.frame(), target.asSlice(offset, frames.window().bytes()))
                .ifPresent(place -> {
                    throw new UserException("the initial field of " + start + " is not finite: " + place
                        + "; start at another time, or repair the data");
                });
        };
    }
}
