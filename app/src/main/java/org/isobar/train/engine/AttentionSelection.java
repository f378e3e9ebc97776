package org.isobar.train.engine;

import java.io.OutputStream;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.config.AttentionConfig;
import org.isobar.config.RunConfig;
import org.isobar.device.AttentionEngine;
import org.isobar.device.AttentionEngine.Choice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.DeviceException;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.device.ops.AttentionShape;
import org.isobar.distributed.RankMessages;
import org.isobar.fault.UserException;
import org.isobar.os.ProgramVersion;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.tensor.DType;
import org.isobar.train.memory.MemoryPlan;

/**
 * Selects the engine of a run's attention, as {@code --attention} says. Each rank prepares the library before it plans
 * its memory ({@link #prepare}). Rank 0 then tries both engines, if they are not in the cache ({@link #decide}), and
 * when the ranks are connected, all use what it has decided ({@link #agree}).
 */
public final class AttentionSelection {
    private static final String REPORT = "attention possible";
    private static final String DECISION = "attention";
    private static final String LIBRARY = "library";
    private static final String OWN = "own";

    private final RunConfig config;
    private final Device device;
    private final DType compute;
    private final RunLog log;
    private final Map<String, String> environment;
    private final Optional<AttentionEngine> engine; // empty if this run cannot use it, on any rank
    private Set<AttentionShape> shapes = Set.of();
    private Optional<String> obstacle = Optional.empty();
    private boolean library;

    /**
     * Starts the selection of one rank.
     *
     * @param compute     type of matrix products
     * @param environment names the directory of caches
     * @throws UserException if {@code --attention=cudnn} is given and this run cannot use cuDNN
     */
    public AttentionSelection(RunConfig config, Device device, DType compute, RunLog log,
        Map<String, String> environment) {
        this.config = config;
        this.device = device;
        this.compute = compute;
        this.log = log;
        this.environment = environment;
        Optional<String> why = unsuitable();
        engine = why.isPresent() ? Optional.empty() : device.secondAttention();
        if (config.attention().choice() == Choice.CUDNN) {
            why.ifPresent(AttentionSelection::refuse);
        }
    }

    /** Why a run with this configuration uses its own kernels, whatever is installed. */
    private Optional<String> unsuitable() {
        AttentionConfig attention = config.attention();
        if (attention.choice() == Choice.ISOBAR) {
            return Optional.of("--attention=isobar");
        }
        if (device.secondAttention().isEmpty()) {
            return Optional.of("cuDNN computes on a GPU; use --attention=auto");
        }
        if (compute == DType.F32) {
            return Optional.of("cuDNN has no attention in fp32; use --amp_mode=bf16 or fp16, or --attention=auto");
        }
        if (attention.drops()) {
            if (attention.choice() == Choice.AUTO && device.secondAttention().get().isInstalled()) {
                log.info("Attention: Isobar's kernels, because what cuDNN drops would depend on the parallel layout");
            }
            return Optional.of("what cuDNN's dropout drops would depend on the parallel layout; use --attention=auto, "
                + "or dropout 0");
        }
        return Optional.empty();
    }

    private static void refuse(String why) {
        throw new UserException("--attention=cudnn: " + why);
    }

    /**
     * Makes the library's plans for the run's shapes, which are found by a dry run. From now on the device's workspace
     * includes theirs.
     *
     * @throws UserException if {@code --attention=cudnn} is given and the library is missing or refuses the forward
     *     pass of a shape
     */
    public void prepare() {
        if (engine.isEmpty()) {
            return;
        }
        if (engine.get().isInstalled()) {
            try {
                shapes = MemoryPlan.of(config.model(), config.training().localBatchSize(),
                    config.training().microBatches(), compute, config.grid(), config.ranks().rank()).footprint()
                    .attention();
            } catch (ArithmeticException | DeviceArena.FullException beyond) {
                return; // larger than any memory, which the memory check reports
            }
        }
        obstacle = engine.get().prepare(shapes, compute);
        if (config.attention().choice() == Choice.CUDNN) {
            obstacle.ifPresent(AttentionSelection::refuse);
        } else if (engine.get().isInstalled()) {
            obstacle.ifPresent(why -> log.info("Attention: Isobar's kernels: " + why));
        }
    }

    /** Decides on rank 0, by a trial if need be. The device's memory is not yet taken. */
    public void decide(MemoryPlan plan) {
        if (engine.isPresent() && obstacle.isEmpty() && config.ranks().rank() == 0 && !shapes.isEmpty()) {
            library = config.attention().choice() == Choice.CUDNN || isFasterAndRight(plan);
            if (config.attention().choice() == Choice.CUDNN) {
                log.info("Attention: " + engine.get().name() + ", because of --attention=cudnn");
            }
            engine.get().backwardRefusal(compute).filter(_ -> library)
                .ifPresent(why -> log.info("Attention: backward by Isobar's kernels: " + why));
            engine.get().enable(library);
        }
    }

    private boolean isFasterAndRight(MemoryPlan plan) {
        TrialCache cache = new TrialCache(environment, "attention", "");
        String key = key();
        Optional<AttentionTimes> known = cache.read(key).flatMap(AttentionTimes::parse);
        if (known.isPresent()) {
            report(known.get(), "measured earlier");
            return known.get().favorLibrary();
        }
        AttentionTimes times = AttentionTimes.NONE;
        for (AttentionShape shape : shapes) {
            device.reserve(plan.footprint());
            try (AttentionTrial trial = new AttentionTrial(device, engine.get(), shape, compute)) {
                Optional<String> wrong = trial.mismatch(config.attention().deterministic());
                if (wrong.isPresent()) {
                    log.warn("Attention: Isobar's kernels, because " + engine.get().name() + " is wrong on this "
                        + "device: " + wrong.get() + " (" + shape + ")");
                    return false;
                }
                times = times.plus(trial.times());
            } catch (OutOfDeviceMemoryException | DeviceException failure) { // a failed device fails the next call
                log.warn("Attention: Isobar's kernels, because a trial of " + engine.get().name() + " failed: "
                    + failure.getMessage());
                return false;
            }
        }
        cache.write(key, times.text(), log::warn);
        report(times, "measured now");
        return times.favorLibrary();
    }

    private void report(AttentionTimes times, String when) {
        log.info(String.format(Locale.ROOT, "Attention: %s; forward and backward of a layer take %.3f ms with %s and "
            + "%.3f ms with Isobar's kernels (%s)", times.favorLibrary() ? engine.orElseThrow().name()
                : "Isobar's kernels", times.library() * 1e3, engine.orElseThrow().name(), times.own() * 1e3, when));
    }

    /** Everything that speed and results depend on. */
    private String key() {
        return String.join("\n", "isobar " + ProgramVersion.text(), engine.orElseThrow().name(),
            engine.orElseThrow().machine(), compute.toString(),
            shapes.stream().map(AttentionShape::toString).sorted().collect(Collectors.joining("\n")));
    }

    /**
     * Makes all ranks use the same engine: the library if rank 0 has decided so and every rank has the same version,
     * which computes the same. All ranks call this together.
     */
    public void agree(RankMessages messages) {
        if (engine.isEmpty() || messages.ranks() == 1) {
            return;
        }
        RankAgreement ranks = new RankAgreement(config, messages, "an engine of attention");
        if (config.ranks().rank() == 0) {
            Optional<String> objection = ranks.unlike(REPORT, engine.get().name());
            objection.filter(_ -> library)
                .ifPresent(why -> log.warn("Attention: Isobar's kernels after all: " + why));
            library &= objection.isEmpty();
            ranks.announce(DECISION, library ? LIBRARY : OWN);
        } else {
            ranks.report(REPORT, Optional.of(obstacle.orElseGet(engine.get()::name)));
            library = ranks.await(DECISION).equals(LIBRARY);
        }
        engine.get().enable(library);
    }

    /**
     * Makes the device of a process that is no member of a job use the library, without a trial, if the configuration
     * says {@code --attention=cudnn}. Called before its memory is planned.
     *
     * @throws UserException if cuDNN is missing or cannot compute this configuration's attention
     */
    public static void force(RunConfig config, Device device, DType compute) {
        if (config.attention().choice() == Choice.CUDNN) {
            try (RunLog unused = new RunLog(Screen.plain(OutputStream.nullOutputStream()))) {
                AttentionSelection selection = new AttentionSelection(config, device, compute, unused, Map.of());
                selection.prepare();
                selection.engine.ifPresent(library -> library.enable(true));
            }
        }
    }

    /** The library that a device uses for attention, with its version; empty if it uses its own kernels. */
    public static Optional<String> current(Device device) {
        return device.secondAttention().filter(AttentionEngine::isEnabled).map(AttentionEngine::name);
    }
}
