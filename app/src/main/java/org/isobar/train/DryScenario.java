package org.isobar.train;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.tensor.DType;
import org.isobar.tensor.Storage;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.RunSignal;

/**
 * What happens in a dry run of training: the numbers that it reads. Numbers of the host that it has uploaded are read
 * back, losses are 1, and {@link Event} says what else there is.
 */
final class DryScenario implements DryRunDevice.Readings {
    /** Training steps of an epoch. */
    static final int STEPS = 3;
    private static final int MOST_NUMBERS = 64; // longer uploads are weights
    private static final byte NAN = (byte) 0xFF; // a NaN in every floating-point type

    private final Event event;
    private final Cause cause;
    private final int losses; // numbers read for the loss of a step
    private final Runnable onNonFinite;
    private final Map<Place, double[]> uploaded = new HashMap<>();
    private Place signal;
    private boolean training;
    private int signals;
    private int steps;
    private int scanned;

    /** What happens, apart from training. */
    enum Event {
        /** Nothing: the run trains from its first step to its end. */
        NONE,
        /** The run starts from a checkpoint of its own. */
        RESUMED,
        /** The run starts from a checkpoint of another run. */
        BRANCHED,
        /** The loss of the second step is not finite. */
        NON_FINITE,
        /** A checkpoint is requested during the first step, and a stop during the second. */
        STOPPED_IN_STEP,
        /** A stop is requested before the first validation. */
        STOPPED_IN_VALIDATION;

        /** Whether a rank requests the end of the run. */
        boolean isStop() {
            return compareTo(STOPPED_IN_STEP) >= 0;
        }

        /** Whether only one rank may see or request it. */
        boolean isLocal() {
            return compareTo(NON_FINITE) >= 0;
        }
    }

    /** The rank that an event comes from: its request, or its sample. */
    enum Cause {
        /** This rank. */
        OWN,
        /** Another rank. */
        PEER
    }

    private record Place(Storage storage, long offset, long elements) {
        static Place of(Tensor tensor) {
            return new Place(tensor.storage(), tensor.offset(), tensor.elements());
        }
    }

    /**
     * Creates a scenario for one dry run.
     *
     * @param losses      number of values that are read for the loss of a step: its mean, and two of each local sample
     * @param onNonFinite is called when a loss that is not finite has been read
     */
    DryScenario(Event event, Cause cause, int losses, Runnable onNonFinite) {
        this.event = event;
        this.cause = cause;
        this.losses = losses;
        this.onNonFinite = onNonFinite;
    }

    /** Whether the batches from now on are trained with. Those of an evaluation may have as many numbers as a loss. */
    void training(boolean now) {
        training = now;
    }

    /** The signal that this rank raises next. */
    RunSignal own() {
        return cause == Cause.OWN ? agreed(signals + 1) : RunSignal.NONE;
    }

    /** The signal that all ranks agree on the n-th time; the first is that of the beginning. */
    private RunSignal agreed(int number) {
        return switch (event) {
            case STOPPED_IN_STEP -> number == 2 ? RunSignal.SAVE : number > 2 ? RunSignal.STOP : RunSignal.NONE;
            case STOPPED_IN_VALIDATION -> number > STEPS + 1 ? RunSignal.STOP : RunSignal.NONE;
            default -> RunSignal.NONE;
        };
    }

    /** The first single number that a replica uploads is its signal. */
    @Override
    public void uploaded(Tensor destination, MemorySegment source) {
        if (destination.dtype() != DType.F64 || destination.elements() > MOST_NUMBERS) {
            return;
        }
        Place place = Place.of(destination);
        if (signal == null && destination.elements() == 1) {
            signal = place;
        }
        if (place.equals(signal)) {
            signals++;
        }
        uploaded.put(place, source.toArray(ValueLayout.JAVA_DOUBLE));
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        if (source.dtype() != DType.F64) {
            activations(destination);
            return;
        }
        Place place = Place.of(source);
        double[] values = uploaded.get(place);
        if (place.equals(signal)) {
            values = new double[] {agreed(signals).ordinal()};
        } else if (values == null && training && source.elements() == losses) {
            values = loss();
        }
        if (values != null) {
            MemorySegment.copy(values, 0, destination, ValueLayout.JAVA_DOUBLE, 0, values.length);
        }
    }

    private double[] loss() {
        double[] values = new double[losses];
        Arrays.fill(values, 1);
        steps++;
        if (event == Event.NON_FINITE && steps == 2) {
            onNonFinite.run();
            values[0] = Double.NaN;
            values[1] = cause == Cause.OWN ? Double.NaN : 1;
        }
        return values;
    }

    /** After a loss that is not finite, the first layer that this rank finds differs from that of its peers. */
    private void activations(MemorySegment destination) {
        boolean found = event == Event.NON_FINITE && steps >= 2 && scanned++ == (cause == Cause.OWN ? 0 : 1);
        destination.fill((byte) 0);
        if (found) {
            destination.asSlice(0, Math.min(destination.byteSize(), Double.BYTES)).fill(NAN);
        }
    }
}
