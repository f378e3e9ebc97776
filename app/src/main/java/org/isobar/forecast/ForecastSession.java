package org.isobar.forecast;

import java.util.ArrayList;
import java.util.List;
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
        return runAll(List.of(model), context, log, sessions -> work.apply(sessions.getFirst()));
    }

    /**
     * As {@link #run}, with a session for each of several models on the same device and in the same job. The settings
     * of machine and job are those of the first model.
     */
    public static <T> T runAll(List<ForecastModel> models, RunContext context, Consumer<String> log,
        Function<List<ForecastSession>, T> work) {
        RunConfig config = models.getFirst().run();
        JobMember member = new JobMember(config.ranks(), config.grid(), context.secret(), config.entries(),
            config.parallel().limits(), config.parallel().carrier());
        DeviceOptions options = config.deviceOptions(context.environment());
        try (JobDevice device = config.device().open(options, log)) {
            config.warning(Backend.of(device)).ifPresent(log);
            Rendezvous.notice(config.ranks(), context.secret()).ifPresent(log);
            List<RunMemory> memories = models.stream().map(model -> memory(model.run(), device, options)).toList();
            try {
                return member.run(device, communicators -> open(models, memories, device, communicators, work));
            } finally {
                memories.forEach(RunMemory::close);
            }
        }
    }

    private static <T> T open(List<ForecastModel> models, List<RunMemory> memories, Device device,
        Communicators communicators, Function<List<ForecastSession>, T> work) {
        List<ForecastSession> sessions = new ArrayList<>();
        try {
            for (ForecastModel model : models) {
                Predictor predictor = load(model, device, memories.get(sessions.size()), communicators);
                RollOut rollOut =
                    new RollOut(predictor, communicators, model, model.run().training().localBatchSize());
                sessions.add(new ForecastSession(model, rollOut, device, communicators, predictor.consensus()));
            }
            return work.apply(List.copyOf(sessions));
        } finally {
            sessions.forEach(session -> session.rollOut.close());
        }
    }

    /**
     * The memory of a predictor, which is not allocated yet.
     *
     * @throws UserException if the device has less memory
     */
    static RunMemory memory(RunConfig config, Device device, DeviceOptions options) {
        MemoryCheck.Inputs none = new MemoryCheck.Inputs(0, _ -> 0, 0);
        MemoryCheck.Run run = new MemoryCheck.Run(config.model(), config.training().localBatchSize(), 1,
            compute(config, device), new MemoryCheck.Member(config.grid(), config.ranks().rank(),
            config.parallel().carrier()), none, MemoryCheck.Saving.NO_TRAINING);
        return new RunMemory(device,
            MemoryCheck.require(device, run, device.memory().available() / Backend.sharers(device, options)));
    }

    private static DType compute(RunConfig config, Device device) {
        return StepOptions.of(config.training(), device, GradientSync.Options.DEFAULT).compute();
    }

    /**
     * Creates a predictor with the weights of a model, in memory that {@link #memory} has planned.
     *
     * @throws UserException if the weights cannot be read, or the ranks have read different ones
     */
    static Predictor load(ForecastModel model, Device device, RunMemory memory, Communicators communicators) {
        Predictor predictor = new Predictor(device, model.run().model(), model.run().training().localBatchSize(),
            memory.take(), communicators, compute(model.run(), device));
        new WeightsFile(predictor.parameters(), predictor.device(), communicators).load(model.weights());
        if (!predictor.consensus().agreeOn(predictor.parameters())) {
            throw new UserException("the ranks have read different weights from " + model.weights()
                + "; give all of them the same file");
        }
        return predictor;
    }
}
