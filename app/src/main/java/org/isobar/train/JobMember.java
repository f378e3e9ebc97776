package org.isobar.train;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
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
        return run(device, UnaryOperator.identity(), work);
    }

    /** Runs as {@link #run(JobDevice, Function)} does; {@code tap} wraps each communicator of several ranks. */
    public <T> T run(JobDevice device, UnaryOperator<Communicator> tap, Function<Communicators, T> work) {
        try (Job job = Rendezvous.join(ranks, secret, allFacts(device), limits);
            RankMessages messages = TreeMessages.of(job);
            Communicators communicators = new Communicators(grid, job.rank(), device.ops().memory()::copy,
                group -> tap.apply(carrier.open(device, job, group)), messages, job.watch()::failure)) {
            try {
                return work.apply(communicators);
            } catch (CommunicationException failure) {
                job.watch().fail(failure.getMessage()); // unless the job has failed already, which is the usual cause
                throw failure;
            } catch (DeviceException failure) {
                throw job.reportFailure(failure);
            } catch (RuntimeException | Error failure) {
                job.watch().fail("rank " + job.rank() + ": "
                    + (failure instanceof UserException ? failure.getMessage() : failure.toString()));
                throw failure;
            }
        }
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
