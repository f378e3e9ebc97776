package org.isobar.train;

import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

import org.isobar.backend.Backend;
import org.isobar.backend.DeviceOptions;
import org.isobar.config.RunConfig;
import org.isobar.data.DataLoader;
import org.isobar.data.Era5Dataset;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.TimedCommunicator;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.Rendezvous;
import org.isobar.optim.Adam;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.TutorialLines;
import org.isobar.train.engine.AttentionSelection;
import org.isobar.train.engine.ProductSelection;
import org.isobar.train.input.DemoData;
import org.isobar.train.input.RunInputs;
import org.isobar.train.memory.MemoryBudget;
import org.isobar.train.memory.MemoryCheck;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.memory.RunMemory;
import org.isobar.train.saving.ResumeCheck;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.RunDirectory;
import org.isobar.train.saving.RunStart;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.PhaseClock;
import org.isobar.train.step.StepLaunch;
import org.isobar.train.step.StepOptions;
import org.isobar.train.trace.TraceWindow;

/** One rank's part of a training run: opens directory, device, memory, communicators and data; trains; closes them. */
public final class TrainingRun {
    private final RunConfig config;
    private final RunContext context;
    private final RunLog log;
    private final int rank;

    private TrainingRun(RunConfig config, RunContext context, RunLog log) {
        this.config = config;
        this.context = context;
        this.log = log;
        rank = config.ranks().rank();
    }

    /**
     * Trains as configured. Returns the exit code: 0, {@link RunContext#INTERRUPTED}, 2 for invalid input, 1 for any
     * other failure.
     */
    public static int run(RunConfig config, RunContext context) {
        return RankProcess.run(config.ranks(), context.screen(), log -> new TrainingRun(config, context, log).run());
    }

    private int run() {
        try (RunDirectory files = RunDirectory.of(config, log)) {
            ProcessGrid grid = config.grid();
            log.info(TutorialLines.grid(grid.size(Axis.DP), grid.size(Axis.TP), grid.size(Axis.CP),
                grid.size(Axis.PP)));
            config.block().forEach(log::info);
            return run(files);
        }
    }

    private int run(RunDirectory files) {
        JobMember member = new JobMember(config.ranks(), config.grid(), context.secret(), config.entries(),
            config.parallel().limits(), config.parallel().carrier());
        DeviceOptions options = config.deviceOptions(context.environment());
        TraceWindow trace = new TraceWindow(config.output().trace());
        try (JobDevice device = trace.observed(config.device().open(options, log::info, log::warn))) {
            config.warning(Backend.of(device)).ifPresent(log::warn);
            Rendezvous.notice(config.ranks(), context.secret()).ifPresent(log::info);
            AttentionSelection attention = new AttentionSelection(config, device, options(device).compute(), log,
                context.environment());
            attention.prepare();
            MemoryPlan plan = plan(device, Backend.sharers(device, options));
            attention.decide(plan);
            ProductSelection products = new ProductSelection(config, device, log, context.environment());
            products.decide(plan);
            describe(device, plan);
            try (RunMemory memory = new RunMemory(device, plan)) {
                PhaseClock clock = new PhaseClock();
                return member.run(device, timed(clock, trace), log::error, communicators -> {
                    trace.connect(clock, traced(communicators));
                    try (StartProof proof = StartProof.begin(config, options(device).compute(), log)) {
                        if (rank == 0) {
                            DemoData.makeIfMissing(config, log::info);
                        }
                        Optional<Resumption> checked =
                            new ResumeCheck(config, communicators.messages(), log).of(files.resumption());
                        RunStart start = RunStart.agreed(checked, config, device, communicators);
                        attention.agree(communicators.messages());
                        products.agree(communicators.messages());
                        start.resumption().ifPresent(from -> noteEngines(from.state(), device));
                        return train(start, proof, device, memory, communicators, clock, trace);
                    }
                });
            }
        }
    }

    /**
     * Plans the memory of the run and checks that it fits before any of it is allocated. The memory limit is for each
     * process. The available memory is divided by the number of processes that share the device, because none of them
     * has allocated its part yet.
     */
    private MemoryPlan plan(Device device, int sharers) {
        MemoryCheck.Run run = new MemoryCheck.Run(config.model(), config.training().localBatchSize(),
            config.training().microBatches(), options(device).compute(),
            new MemoryCheck.Member(config.grid(), rank, config.parallel().carrier()),
            new RunInputs(config, device).memory(),
            config.savesCheckpoints() ? MemoryCheck.Saving.CHECKPOINTS : MemoryCheck.Saving.NOTHING);
        return MemoryCheck.require(device, run,
            MemoryBudget.of(config.training().memoryLimit(), device.memory().available() / sharers));
    }

    /** Logs that other engines computed the steps so far. */
    private void noteEngines(TrainingState from, Device device) {
        noteEngine("Attention", from.attention(), AttentionSelection.current(device));
        if (!from.products().equals(TrainingState.UNKNOWN)) {
            noteEngine("Products", from.products(), ProductSelection.current(device));
        }
    }

    private void noteEngine(String what, String then, Optional<String> library) {
        String now = library.orElse(TrainingState.OWN_KERNELS);
        if (!then.equals(now)) {
            log.info("%s: the checkpoint's steps were computed by %s, the next ones by %s: bits may differ"
                .formatted(what, then, now));
        }
    }

    /** Logs which kernels run, if the device has a choice, and how they are launched. */
    private void describe(Device device, MemoryPlan plan) {
        StepOptions options = options(device);
        List<String> kernels = device.kernels(plan.footprint(), options.compute());
        kernels.forEach(line -> log.info("Kernels: " + line));
        if (!kernels.isEmpty()) {
            log.info("Kernels: Adam: "
                + (options.adam().launch() == Adam.Launch.ONCE ? "one launch" : "one launch per tensor"));
        }
        if (options.launch() == StepLaunch.GRAPH) {
            log.info("CUDA graphs: a step is captured once for each input buffer and micro-batch, and launched as a "
                + "whole");
        }
    }

    /** The configured step options, as far as the device supports them. */
    private StepOptions options(Device device) {
        return StepOptions.of(config.training(), device, GradientSync.Options.DEFAULT);
    }

    /** Wraps communicators so that waiting for them is a phase of a step. */
    private UnaryOperator<Communicator> timed(PhaseClock clock, TraceWindow trace) {
        return communicator -> trace.observed(new TimedCommunicator(context.tap().apply(communicator),
            () -> clock.open(PhaseClock.Phase.COMMUNICATION)));
    }

    private TraceWindow.Target traced(Communicators communicators) {
        return new TraceWindow.Target(config.output().experimentDirectory(), rank, communicators.messages(),
            config.parallel().limits().stall(), log::info);
    }

    private int train(RunStart start, StartProof proof, Device device, RunMemory memory, Communicators communicators,
        PhaseClock clock, TraceWindow trace) {
        log.info(TutorialLines.loaderBegins(rank));
        RunInputs inputs = new RunInputs(config, device);
        try (Era5Dataset training = inputs.training(communicators.messages(), log);
            Era5Dataset validation = inputs.validation(training.inputs(), communicators.messages(), log);
            DataLoader trainingLoader = inputs.loader(training, true, communicators);
            DataLoader validationLoader = inputs.loader(validation, false, communicators)) {
            log.info(TutorialLines.loaderReady(rank));
            LoaderPair data = LoaderPair.of(config, trainingLoader, validationLoader);
            // fails if there is no whole epoch, before the model is created
            data.shortened(config.training().numIters()).ifPresent(log::info);
            RollOutYears.check(config);
            if (rank == 0) {
                start.resumption().ifPresent(checkpoint -> checkpoint.checkData(config, data.fingerprint(), log::warn));
            }
            proof.await(communicators);
            return new TrainingSession(config, context, log, start, data, clock, trace)
                .run(device, memory, communicators);
        }
    }
}
