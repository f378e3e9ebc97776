package org.isobar.evaluation;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.data.NonFiniteValue;
import org.isobar.data.Normalization;
import org.isobar.fault.UserException;
import org.isobar.forecast.StartTime;
import org.isobar.scores.FieldScores;
import org.isobar.scores.ZonalSpectrum;

/**
 * The fields that forecasts are compared with. The last used ones are kept, because successive forecasts have most of
 * their valid times in common. Not thread-safe.
 */
final class VerifyingFields implements AutoCloseable {
    private static final long KEPT_BYTES = 64L << 20;
    private final Era5Frames frames;
    private final ClimatologyFields climatologies;
    private final double[] weights; // (H)
    private final ZonalSpectrum spectrum;
    private final int pairs;
    private final Arena arena = Arena.ofShared();
    private final Map<StartTime, Fields> kept = new LinkedHashMap<>(16, 0.75f, true); // the last used at the end
    private final Deque<Fields> unused = new ArrayDeque<>();
    private final List<Runnable> verification = new ArrayList<>();
    private MemorySegment constant; // the climatology if it is the same at all times; null until it is read

    /**
     * Allocates memory for as many fields as are kept.
     *
     * @param frames  the data, with the window of the model's output
     * @param weights (H), of the rows
     */
    VerifyingFields(Era5Frames frames, ClimatologyFields climatologies, double[] weights) {
        this.frames = frames;
        this.climatologies = climatologies;
        this.weights = weights;
        CropWindow window = frames.window();
        spectrum = new ZonalSpectrum(weights, window.width());
        pairs = (int) Math.max(1, KEPT_BYTES / (4 * window.bytes()));
        for (int i = 0; i < 2 * pairs; i++) {
            unused.add(new Fields());
        }
    }

    /** Number of pairs of an initial and a valid time whose fields are kept at once, 1 or more. */
    int pairs() {
        return pairs;
    }

    /** The fields of one time. They are valid until those of as many other times as are kept have been requested. */
    final class Fields {
        private final MemorySegment truth = arena.allocate(frames.window().bytes(), Float.BYTES); // (Cout, H, W)
        private MemorySegment climatology; // (Cout, H, W); null until it is read
        private FieldScores[] climatologyScores; // (Cout)
        private double[][] power; // (Cout, wavenumbers)

        /** The truth. */
        MemorySegment truth(int variable) {
            return field(truth, variable);
        }

        /** The climatology of this time. */
        MemorySegment climatology(int variable) {
            return field(climatology, variable);
        }

        /** Scores of the climatology as a forecast. */
        FieldScores climatologyScores(int variable) {
            return climatologyScores[variable];
        }

        /** The power spectrum of the truth. */
        double[] power(int variable) {
            return power[variable];
        }

        private void read(StartTime time) {
            climatologyScores = null;
            frames.read(time.year(), time.frame(), Normalization.none(frames.window().channels()), truth, 0);
            frames.firstNonFinite(time.year(), time.frame(), truth).ifPresent(place -> {
                throw new UserException("the field of " + time + ", which forecasts are compared with, is not finite: "
                    + place + "; repair the data, or leave out that year");
            });
        }

        private void readClimatology(StartTime time) {
            climatology = VerifyingFields.this.readClimatology(time, climatology);
            int variables = frames.window().channels();
            climatologyScores = new FieldScores[variables];
            power = new double[variables][];
            IntStream.range(0, variables).forEach(variable -> verification.add(() -> verify(variable)));
        }

        private void verify(int variable) {
            climatologyScores[variable] = FieldScores.of(weights, climatology(variable), truth(variable),
                Optional.of(climatology(variable)));
            power[variable] = spectrum.power(truth(variable));
        }
    }

    /**
     * The fields of a time, of which only the truth may be used.
     *
     * @throws UserException if they cannot be read, or are not finite
     */
    Fields initial(StartTime time) {
        Fields fields = kept.get(time);
        if (fields == null) {
            fields = replaceable();
            fields.read(time);
            kept.put(time, unused.removeFirst());
        }
        return fields;
    }

    /** The first of the unused fields. If there are none, the fields that were used the longest ago become unused. */
    private Fields replaceable() {
        if (unused.isEmpty()) {
            Iterator<Fields> oldest = kept.values().iterator();
            unused.add(oldest.next());
            oldest.remove();
        }
        return unused.getFirst();
    }

    /**
     * Tasks that read the fields of the next valid times of some forecasts, to be done before these are requested. None
     * if they would take the place of the initial and valid times of these forecasts. Several threads may run them, in
     * any order. They throw a {@link UserException} as {@link #initial} does; after that, no fields may be requested.
     */
    List<Runnable> readAhead(List<StartTime> times) {
        List<Runnable> tasks = new ArrayList<>();
        if (3 * times.size() <= 2 * pairs) {
            for (StartTime time : times) {
                if (!kept.containsKey(time)) {
                    Fields fields = replaceable();
                    kept.put(time, unused.removeFirst());
                    tasks.add(() -> fields.read(time));
                }
            }
        }
        return tasks;
    }

    /**
     * The fields of a valid time. Its spectra and scores are those that {@link #verification} computes.
     *
     * @throws UserException if they or the climatology cannot be read, or are not finite
     */
    Fields valid(StartTime time) {
        Fields fields = initial(time);
        if (fields.climatologyScores == null) {
            fields.readClimatology(time);
        }
        return fields;
    }

    /**
     * Tasks that compute spectra of the truth and scores of the climatology, for valid times that were requested since
     * the last call. Several threads may run them, in any order.
     */
    List<Runnable> verification() {
        List<Runnable> tasks = List.copyOf(verification);
        verification.clear();
        return tasks;
    }

    /**
     * The climatology of a time, (Cout, H, W). If it is the same at all times, they share it.
     *
     * @param memory receives it; null to allocate memory
     */
    private MemorySegment readClimatology(StartTime time, MemorySegment memory) {
        if (constant != null) {
            return constant;
        }
        MemorySegment target = memory == null ? arena.allocate(frames.window().bytes(), Float.BYTES) : memory;
        climatologies.read(time.time(), target);
        NonFiniteValue.find(target, frames.window()).ifPresent(place -> {
            throw new UserException("the climatology has no value for " + time + " (" + place.value() + " in "
                + frames.channelText(place.channel()) + ", row " + place.row() + ", column "
                + place.column() + "); make it from years that have this time of the year");
        });
        constant = climatologies.isConstant() ? target : null;
        return target;
    }

    /** The power spectrum of a field. Thread-safe. */
    double[] power(MemorySegment field) {
        return spectrum.power(field);
    }

    private MemorySegment field(MemorySegment fields, int variable) {
        long bytes = fields.byteSize() / frames.window().channels();
        return fields.asSlice(variable * bytes, bytes);
    }

    @Override
    public void close() {
        arena.close();
    }
}
