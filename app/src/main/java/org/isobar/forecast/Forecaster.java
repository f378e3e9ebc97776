package org.isobar.forecast;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import org.isobar.backend.DeviceOptions;
import org.isobar.config.RunConfig;
import org.isobar.data.NonFiniteValue;
import org.isobar.data.Normalization;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.job.JobDevice;
import org.isobar.fault.UserException;
import org.isobar.pretrained.Channel;
import org.isobar.pretrained.ModelGrid;
import org.isobar.train.memory.RunMemory;

/**
 * Forecasts with a trained model from within another program, in one process.
 *
 * <pre>{@code
 * try (Forecaster model = Forecaster.open(Path.of("demo-model"))) {
 *     model.forecast(fields, 20, (step, forecast) -> use(model.leadStep().multipliedBy(step), forecast));
 * }
 * }</pre>
 *
 * <p>Fields are in the units of the data, and have the shape (channels, latitudes, longitudes), row-major. Row 0 is the
 * first latitude of {@link #grid}. All methods are called by the thread that opened the forecaster; other threads use
 * forecasters of their own. Nothing is logged, and no logging framework is configured. Java needs the options
 * {@code --add-modules=jdk.incubator.vector --enable-native-access=ALL-UNNAMED}.
 */
public final class Forecaster implements AutoCloseable {
    private static final Set<String> SETTINGS = Set.of("device", "threads", "amp_mode");
    private static final Set<String> MACHINE = Set.of("ISOBAR_THREADS", "NVIDIA_TF32_OVERRIDE");
    private static final String VECTORS = "jdk.incubator.vector";
    private static final LocalDateTime ANY_TIME = LocalDate.EPOCH.atStartOfDay(); // for models that do not read it

    private final Thread owner = Thread.currentThread();
    private final ForecastModel model;
    private final JobDevice device;
    private final RunMemory memory;
    private final Communicators communicators;
    private final RollOut rollOut;
    private boolean closed;

    /** Receives forecasts. */
    public interface Receiver {
        /**
         * Receives the forecast of one step.
         *
         * @param step   number of model steps from the initial time, from 1
         * @param fields (Cout, H, W), in the units of the data; a new array for each step
         */
        void accept(int step, float[] fields);
    }

    private Forecaster(ForecastModel model, JobDevice device, RunMemory memory) {
        this.model = model;
        this.device = device;
        this.memory = memory;
        communicators = Communicators.alone(device.ops().memory()::copy);
        rollOut = new RollOut(ForecastSession.load(model, device, memory, communicators), communicators, model,
            model.run().training().localBatchSize());
    }

    /**
     * Opens a model with its default settings: on a GPU if the machine has a usable one, else on all cores.
     *
     * @param directory the directory of a run, or one that {@code isobar export} wrote
     * @throws UserException as {@link #open(Path, Map)} does
     */
    public static Forecaster open(Path directory) {
        return open(directory, Map.of());
    }

    /**
     * Opens a model.
     *
     * @param directory the directory of a run, or one that {@code isobar export} wrote
     * @param settings  any of {@code device} ({@code auto}, {@code cpu} or {@code cuda}), {@code threads} of the CPU,
     *                  and {@code amp_mode} ({@code none}, {@code fp16} or {@code bf16})
     * @throws UserException if the model cannot be read, the machine has no such device or too little memory, a setting
     *                       is invalid, or Java lacks its options; the message says what to do
     */
    public static Forecaster open(Path directory, Map<String, String> settings) {
        if (ModuleLayer.boot().findModule(VECTORS).isEmpty()) {
            throw new UserException("Isobar computes with module " + VECTORS + ", which is not there; start Java with "
                + "--add-modules=" + VECTORS + " --enable-native-access=ALL-UNNAMED");
        }
        Set<String> unknown = new TreeSet<>(settings.keySet());
        unknown.removeAll(SETTINGS);
        if (!unknown.isEmpty()) {
            throw new UserException("the settings " + unknown + " of a forecaster are unknown; there are "
                + new TreeSet<>(SETTINGS));
        }
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.keySet().retainAll(MACHINE); // without the variables of a job that this process may be part of
        return open(ForecastModel.open(directory, settings, environment));
    }

    @SuppressWarnings("resource") // closed here on failure, otherwise by the new object
    private static Forecaster open(ForecastModel model) {
        RunConfig run = model.run();
        DeviceOptions options = run.deviceOptions(System.getenv());
        JobDevice device = run.device().open(options, _ -> { });
        RunMemory memory = null;
        try {
            memory = ForecastSession.memory(run, device, options);
            return new Forecaster(model, device, memory);
        } catch (RuntimeException | Error failure) {
            if (memory != null) {
                memory.close();
            }
            device.close();
            throw failure;
        }
    }

    /**
     * The Cin variables of the initial fields, in order, with their units. Constant fields that the model reads, too,
     * are in its directory, and the time follows from that of the initial fields.
     */
    public List<Channel> inputs() {
        return model.config().channels().subList(0, model.input().channels());
    }

    /** The Cout variables that the model forecasts, in order, with their units: the first of {@link #inputs}. */
    public List<Channel> outputs() {
        return model.config().forecastChannels();
    }

    /** The H latitudes and W longitudes of the fields, in degrees. */
    public ModelGrid grid() {
        return model.config().grid();
    }

    /** Time from the initial fields to the first forecast, and from each forecast to the next. */
    public Duration leadStep() {
        return Duration.ofHours(model.config().leadStepHours());
    }

    /**
     * Forecasts with a model that does not read the time.
     *
     * @throws UserException as {@link #forecast(float[], LocalDateTime, int, Receiver)} does, and if the model reads
     *                       the time
     */
    public void forecast(float[] fields, int steps, Receiver receiver) {
        if (model.extra().time()) {
            throw new UserException("the model reads the time; give that of the initial fields");
        }
        forecast(fields, ANY_TIME, steps, receiver);
    }

    /**
     * Forecasts step by step. A GPU computes a step while the receiver has the one before.
     *
     * @param fields   the initial fields, (Cin, H, W), in the units of the data; not changed
     * @param time     of the initial fields, UTC
     * @param steps    number of model steps, 1 or more
     * @param receiver receives each step, in order; what it throws ends the forecast
     * @throws UserException            if an initial field or a forecast is not finite, or if there are several steps
     *                                  and the model does not forecast all variables that it reads
     * @throws IllegalArgumentException if {@code fields} has another length, or {@code steps} is less than 1
     * @throws IllegalStateException    if the forecaster is closed
     * @throws WrongThreadException     if another thread opened it
     * @throws org.isobar.device.DeviceException if the device fails; the forecaster can then only be closed
     */
    public void forecast(float[] fields, LocalDateTime time, int steps, Receiver receiver) {
        requireOpen();
        if (fields.length != model.input().elements() || steps < 1) {
            throw new IllegalArgumentException(fields.length + " values and " + steps + " steps; the model reads "
                + model.input() + " values (channels x latitudes x longitudes) and makes 1 step or more");
        }
        RollOut.requireSteps(model, steps);
        NonFiniteValue.find(MemorySegment.ofArray(fields), model.input()).ifPresent(place -> {
            throw new UserException("the initial field is not finite: " + model.config().text(place));
        });
        rollOut.run(List.of(time), steps, new RollOut.Samples() {
            @Override
            public void load(int sample, MemorySegment target, long offset) {
                normalize(fields, target, offset);
                model.extra().write(time, model.normalization().means(), model.normalization().spreads(),
                    model.input().channels(), target, offset);
            }

            @Override
            public void receive(int step, MemorySegment forecast) {
                receiver.accept(step, forecast.toArray(ValueLayout.JAVA_FLOAT));
            }

            @Override
            public String name(int sample) {
                return "the forecast";
            }
        });
    }

    /** Writes the normalized variables at a byte offset, with the arithmetic of {@code data.Era5Frames}. */
    private void normalize(float[] fields, MemorySegment target, long offset) {
        Normalization normalization = model.normalization();
        int pixels = model.input().height() * model.input().width();
        for (int i = 0; i < fields.length; i++) {
            int channel = i / pixels;
            target.set(ValueLayout.JAVA_FLOAT, offset + (long) i * Float.BYTES,
                (fields[i] - normalization.means()[channel]) / normalization.spreads()[channel]);
        }
    }

    private void requireOpen() {
        if (Thread.currentThread() != owner) {
            throw new WrongThreadException("the forecaster was opened by thread " + owner.getName());
        }
        if (closed) {
            throw new IllegalStateException("the forecaster is closed");
        }
    }

    /** Frees the memory and the device. Closing again has no effect. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        requireOpen();
        closed = true;
        communicators.close();
        memory.close();
        device.close();
        rollOut.close();
    }
}
