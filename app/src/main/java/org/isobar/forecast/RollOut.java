package org.isobar.forecast;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.NonFiniteValue;
import org.isobar.data.channels.TimeChannels;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.fault.UserException;
import org.isobar.model.ModelSpec;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.Predictor;

/**
 * Steps a model from initial fields: each normalized prediction is the input of the next step. The data-parallel ranks
 * share the starts, and each computes its own in batches; the ranks of a replica compute them together. Memory does not
 * depend on the number of steps or starts. Not thread-safe.
 */
public final class RollOut implements AutoCloseable {
    private static final int MOST_STEPS = 100_000; // 68 years of six hours
    private static final int MEETING = 10; // steps

    private final Predictor predictor;
    private final Communicators communicators;
    private final ForecastModel model;
    private final int batch;
    private final CropWindow output; // of one start
    private final Arena arena = Arena.ofShared(); // a device may copy on its own threads
    private final MemorySegment inputs; // (B, Cin, H, W)
    private final MemorySegment outputs; // (B, Cout, H, W)
    private final MemorySegment times; // (4, H, W)

    /** A roll-out of {@code predictor}, which has the weights of {@code model} and computes batches of that size. */
    RollOut(Predictor predictor, Communicators communicators, ForecastModel model, int batch) {
        this.predictor = predictor;
        this.communicators = communicators;
        this.model = model;
        this.batch = batch;
        ModelSpec spec = model.run().model();
        output = new CropWindow(spec.outChannels(), spec.height(), spec.width());
        inputs = arena.allocate(predictor.input().bytes(), Float.BYTES);
        outputs = arena.allocate(batch * output.bytes(), Float.BYTES);
        times = arena.allocate(TimeChannels.NAMES.size() * output.bytes() / output.channels(), Float.BYTES);
    }

    /**
     * Forecasts from each start. All ranks call this method with the same starts and steps. {@code consumer} receives
     * every forecast on exactly one rank.
     *
     * @param steps number of model steps
     * @throws UserException if an initial field is invalid, a forecast is not finite, or there are several steps and
     *                       the model does not forecast all variables that it reads
     */
    public void run(List<StartTime> starts, int steps, InitialFields initial, LeadConsumer consumer) {
        requireSteps(model, steps);
        List<StartTime> own = share(starts);
        int most = Math.ceilDiv(starts.size(), communicators.grid().size(Axis.DP)); // starts of a replica
        for (int first = 0; first < most; first += batch) {
            if (first >= own.size()) {
                IntStream.rangeClosed(1, steps).forEach(this::meet);
                continue;
            }
            List<StartTime> some = own.subList(first, Math.min(first + batch, own.size()));
            run(some.stream().map(StartTime::time).toList(), steps, new Samples() {
                @Override
                public void load(int sample, MemorySegment target, long offset) {
                    initial.read(some.get(sample), target, offset);
                }

                @Override
                public void receive(int step, MemorySegment fields) {
                    consumer.acceptAll(some, step, fields);
                }

                @Override
                public void finish() {
                    consumer.finish();
                }

                @Override
                public void stepDone(int step) {
                    meet(step);
                }

                @Override
                public String name(int sample) {
                    return "the forecast from " + some.get(sample);
                }
            });
        }
        consumer.finish();
    }

    /**
     * Replicas wait for each other after some steps, so that one that has fewer starts does not wait for others as long
     * as whole forecasts take: longer waits count as failures of the job.
     */
    private void meet(int step) {
        if (step % MEETING == 0 && communicators.grid().size(Axis.DP) > 1) {
            predictor.consensus().barrier();
        }
    }

    /** The samples of a batch. */
    interface Samples {
        /**
         * Writes the normalized input of a sample, (Cin, H, W), floats, at a byte offset of {@code target}. Called for
         * several samples at once.
         */
        void load(int sample, MemorySegment target, long offset);

        /**
         * Receives the forecasts of a step, (samples, Cout, H, W), floats in the units of the data, valid until the end
         * of the next call of {@link #finish}.
         */
        void receive(int step, MemorySegment fields);

        /** Returns when nothing reads received forecasts any longer. Called before others take their place. */
        default void finish() { }

        /** Called on each rank when a step is computed. */
        default void stepDone(int step) { }

        /** What the forecast of a sample is called in a message. */
        String name(int sample);
    }

    /**
     * Checks that a model can be rolled out over that many steps.
     *
     * @throws UserException if it cannot
     */
    public static void requireSteps(ForecastModel model, int steps) {
        if (steps < 1 || steps > MOST_STEPS) {
            throw new UserException("--lead_steps " + steps + ": a forecast has 1 to " + MOST_STEPS + " steps");
        }
        int reads = model.input().channels();
        int forecasts = model.output().channels();
        if (steps > 1 && forecasts < reads) {
            throw new UserException("--lead_steps " + steps + ": the model reads " + reads
                + " variables and forecasts " + forecasts + " of them, which is not enough for the input of "
                + "a second step; give --lead_steps=1");
        }
    }

    /** The starts of this rank's replica. Starts are dealt out in turn, so that replicas have equally many. */
    public List<StartTime> share(List<StartTime> starts) {
        int replicas = communicators.grid().size(Axis.DP);
        int replica = communicators.coordinate(Axis.DP);
        return IntStream.range(0, starts.size()).filter(i -> i % replicas == replica).mapToObj(starts::get).toList();
    }

    /**
     * Forecasts one batch. A batch that is not full repeats its first sample, whose forecasts are then delivered once.
     *
     * @param times of the initial fields of each sample
     * @throws UserException if a forecast is not finite
     */
    void run(List<LocalDateTime> times, int steps, Samples samples) {
        boolean delivers = communicators.coordinate(Axis.TP) == 0 && communicators.coordinate(Axis.CP) == 0;
        load(times.size(), samples);
        Tensor prediction = predictor.predict();
        for (int step = 1; step <= steps; step++) {
            samples.finish();
            Optional<MemorySegment> memory = predictor.device().hostMemory(prediction);
            if (delivers && memory.isPresent()) {
                deliver(memory.get(), times.size(), step, samples);
            } else if (delivers) {
                predictor.device().download(outputs, prediction);
            }
            if (step < steps) {
                predictor.advance();
                advanceTime(times, step);
                prediction = predictor.predict();
            }
            if (delivers && memory.isEmpty()) { // meanwhile a GPU computes the next step
                deliver(outputs, times.size(), step, samples);
            }
            samples.stepDone(step);
        }
    }

    private void deliver(MemorySegment normalized, int count, int step, Samples samples) {
        long bytes = count * output.bytes();
        MemorySegment fields = outputs.asSlice(0, bytes);
        if (!PhysicalFields.restore(predictor.device(), normalized.asSlice(0, bytes), output, model.normalization(),
            fields)) {
            throw diverged(fields, step, samples);
        }
        samples.receive(step, fields);
    }

    /** Writes the time of the next input to the time channels, which are the last ones. Constant fields stay. */
    private void advanceTime(List<LocalDateTime> initial, int step) {
        if (!model.extra().time()) {
            return;
        }
        Tensor input = predictor.input(); // (B, Cin, H, W)
        long channels = input.shape().extent(1);
        int written = TimeChannels.NAMES.size();
        for (int i = 0; i < batch; i++) {
            LocalDateTime start = initial.get(i < initial.size() ? i : 0);
            model.extra().writeTime(start.plusHours((long) step * model.config().leadStepHours()), times, 0);
            predictor.device().upload(input.slice(i, 1).reshape(channels, output.height(), output.width())
                .slice(channels - written, written), times);
        }
    }

    private void load(int count, Samples samples) {
        long bytes = inputs.byteSize() / batch;
        predictor.device().runOnHost(count, i -> samples.load(i, inputs, i * bytes));
        for (int i = count; i < batch; i++) {
            MemorySegment.copy(inputs, 0, inputs, i * bytes, bytes);
        }
        predictor.device().upload(predictor.input(), inputs);
    }

    private UserException diverged(MemorySegment fields, int step, Samples samples) {
        int sample = 0;
        Optional<NonFiniteValue.Place> place = Optional.empty();
        while (place.isEmpty()) {
            place = NonFiniteValue.find(fields.asSlice(sample++ * output.bytes(), output.bytes()), output);
        }
        return new UserException(samples.name(sample - 1) + " is not finite at step " + step + " ("
            + step * model.config().leadStepHours() + " h): " + model.config().text(place.get())
            + "; forecast fewer steps, or train the model further");
    }

    /** Frees the host buffers. The predictor stays open. */
    @Override
    public void close() {
        arena.close();
    }
}
