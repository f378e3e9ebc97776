package org.isobar.train;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.device.Device;
import org.isobar.device.DeviceException;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.job.FailureSummary;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.Rendezvous;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.distributed.job.TreeMessages;
import org.isobar.fault.UserException;
import org.isobar.os.ProgramVersion;

/**
 * One process of a job: connects to the other processes, runs with them, and reports its failures to them.
 *
 * @param ranks   rank of this process and number of processes
 * @param grid    the parallel layout
 * @param secret  authenticates this process to the others
 * @param facts   values on which all processes must agree, in addition to device type, grid and program version
 * @param limits  time limits of the processes' waits for each other
 * @param carrier backend of the collectives
 */
public record JobMember(RankEnvironment ranks, ProcessGrid grid, JobSecret secret, Map<String, String> facts,
    TimeLimits limits, CommBackend carrier) {

    /**
     * Connects to the job's other processes, calls {@code work} with the communicators and returns its result. All
     * connections are closed when this method returns or throws, so memory that collectives used may then be freed.
     *
     * @throws UserException if the processes cannot connect, or disagree
     * @throws CommunicationException if another process has failed
     */
    public <T> T run(JobDevice device, Function<Communicators, T> work) {
        return run(device, UnaryOperator.identity(), (job, failure) -> failure, work);
    }

    /**
     * Runs as {@link #run(JobDevice, Function)} does.
     *
     * @param tap wraps each communicator of several ranks
     * @param log receives on rank 0 what the ranks of a large job have found
     * @throws RankProcess.LoggedFailure if rank 0 has logged the failure of this process
     */
    public <T> T run(JobDevice device, UnaryOperator<Communicator> tap, Consumer<String> log,
        Function<Communicators, T> work) {
        return run(device, tap, (job, failure) -> summarized(job, failure, log), work);
    }

    private <T> T run(JobDevice device, UnaryOperator<Communicator> tap,
        BiFunction<Job, RuntimeException, RuntimeException> summary, Function<Communicators, T> work) {
        try (Job job = Rendezvous.join(ranks, secret, allFacts(device), limits);
            RankMessages messages = TreeMessages.of(job);
            Communicators communicators = new Communicators(grid, job.rank(), device.ops().memory()::copy,
                group -> tap.apply(carrier.open(device, job, group)), messages, job.watch()::failure)) {
            try {
                return work.apply(communicators);
            } catch (RuntimeException failure) {
                throw summary.apply(job, reported(job, failure));
            } catch (Error failure) {
                job.watch().fail("rank " + job.rank() + ": " + failure);
                throw failure;
            }
        }
    }

    /** Reports a failure to the other ranks, unless the job has failed already. Returns the exception to end with. */
    private static RuntimeException reported(Job job, RuntimeException failure) {
        if (failure instanceof DeviceException device) {
            return job.reportFailure(device);
        }
        String message = failure instanceof UserException ? failure.getMessage() : failure.toString();
        job.watch().fail(failure instanceof CommunicationException ? failure.getMessage()
            : "rank " + job.rank() + ": " + message);
        return failure;
    }

    private static RuntimeException summarized(Job job, RuntimeException failure, Consumer<String> log) {
        Optional<String> finding =
            failure instanceof CommunicationException ? Optional.empty() : Optional.of(RankProcess.text(failure));
        return FailureSummary.isFor(job.worldSize()) && FailureSummary.log(job, finding, failure.getMessage(), log)
            ? new RankProcess.LoggedFailure(failure) : failure;
    }

    private Map<String, String> allFacts(Device device) {
        Map<String, String> all = new LinkedHashMap<>(facts);
        all.put("device type", Backend.of(device) == Backend.CPU ? "CPU" : "GPU");
        all.put("comm_backend", carrier.name().toLowerCase(Locale.ROOT));
        all.put("process grid", grid.toString());
        all.put("version", ProgramVersion.text());
        return all;
    }
}
