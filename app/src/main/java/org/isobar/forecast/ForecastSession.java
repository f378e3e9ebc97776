package org.isobar.forecast;

import java.util.function.Consumer;
import java.util.function.Function;

import org.isobar.backend.Backend;
import org.isobar.backend.DeviceOptions;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.Rendezvous;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.train.JobMember;
import org.isobar.train.RunContext;
import org.isobar.train.memory.MemoryCheck;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.memory.RunMemory;
import org.isobar.train.saving.WeightsFile;
import org.isobar.train.step.Consensus;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Predictor;
import org.isobar.train.step.StepOptions;

/**
 * A loaded model on the device of one rank of a job.
 *
 * @param model         the model
 * @param rollOut       steps it
 * @param device        the device
 * @param communicators the connections to the other ranks
 * @param consensus     reductions by which the ranks agree on a value
 */
public record ForecastSession(ForecastModel model, RollOut rollOut, Device device, Communicators communicators,
    Consensus consensus) {

    /**
     * Opens the device, joins the job, loads the weights, calls {@code work}, and closes all of it.
     *
     * @param log receives lines about device and job
     * @throws UserException if the model, the device or the job is not as configured
     */
    public static <T> T run(ForecastModel model, RunContext context, Consumer<String> log,
        Function<ForecastSession, T> work) {
        RunConfig config = model.run();
        JobMember member = new JobMember(config.ranks(), config.grid(), context.secret(), config.entries(),
            config.parallel().limits(), config.parallel().carrier());
        DeviceOptions options = config.deviceOptions(context.environment());
        try (JobDevice device = config.device().open(options, log)) {
            config.warning(Backend.of(device)).ifPresent(log);
            Rendezvous.notice(config.ranks(), context.secret()).ifPresent(log);
            DType compute = StepOptions.of(config.training(), device, GradientSync.Options.DEFAULT).compute();
            MemoryPlan plan = plan(config, device, compute, Backend.sharers(device, options));
            try (RunMemory memory = new RunMemory(device, plan)) {
                return member.run(device, communicators -> {
                    Predictor predictor = new Predictor(device, config.model(), config.training().localBatchSize(),
                        memory.take(), communicators, compute);
                    load(model, predictor, communicators);
                    try (RollOut rollOut =
                        new RollOut(predictor, communicators, model, config.training().localBatchSize())) {
                        return work.apply(
                            new ForecastSession(model, rollOut, device, communicators, predictor.consensus()));
                    }
                });
            }
        }
    }

    private static MemoryPlan plan(RunConfig config, Device device, DType compute, int sharers) {
        int batch = config.training().localBatchSize();
        MemoryCheck.Inputs none = new MemoryCheck.Inputs(0, _ -> 0, 0);
        MemoryCheck.Run run = new MemoryCheck.Run(config.model(), batch, compute,
            new MemoryCheck.Member(config.grid(), config.ranks().rank(), config.parallel().carrier()), none,
            MemoryCheck.Saving.NO_TRAINING);
        return MemoryCheck.require(device, run, device.memory().available() / sharers);
    }

    private static void load(ForecastModel model, Predictor predictor, Communicators communicators) {
        new WeightsFile(predictor.parameters(), predictor.device(), communicators).load(model.weights());
        if (!predictor.consensus().agreeOn(predictor.parameters())) {
            throw new UserException("the ranks have read different weights from " + model.weights()
                + "; give all of them the same file");
        }
    }
}
