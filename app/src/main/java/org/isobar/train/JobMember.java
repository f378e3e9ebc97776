package org.isobar.train;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.device.Device;
import org.isobar.device.DeviceException;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.Rendezvous;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.fault.UserException;

/**
 * This process as one of a job's: meets the others, works with them, and tells them if it fails.
 *
 * @param ranks  which of the processes it is
 * @param grid   how they share the work
 * @param secret proves to the others that it is one of them
 * @param facts  what all of them must agree on, besides the grid and the program's version
 * @param limits how long they wait for each other
 * @param carrier what carries their collectives
 */
public record JobMember(RankEnvironment ranks, ProcessGrid grid, JobSecret secret, Map<String, String> facts,
    TimeLimits limits, CommBackend carrier) {

    /**
     * Runs {@code work} with communicators to the job's other processes; returns what it returns. All connections are
     * closed when it returns or throws, so memory that collectives used may be freed then.
     *
     * @throws UserException if the processes cannot meet, or disagree
     * @throws CommunicationException         if another process has failed
     */
    public <T> T run(JobDevice device, Function<Communicators, T> work) {
        try (Job job = Rendezvous.join(ranks, secret, allFacts(device), limits);
            Communicators communicators = new Communicators(grid, job.rank(), device.ops().memory()::copy,
                group -> carrier.open(device, job, group), job.watch()::failure)) {
            try {
                return work.apply(communicators);
            } catch (CommunicationException theirs) {
                throw theirs;
            } catch (DeviceException broken) {
                throw job.reportFailure(broken);
            } catch (RuntimeException | Error ours) {
                job.watch().fail("rank " + job.rank() + ": "
                    + (ours instanceof UserException ? ours.getMessage() : ours.toString()));
                throw ours;
            }
        }
    }

    private Map<String, String> allFacts(Device device) {
        Map<String, String> all = new LinkedHashMap<>(facts);
        all.put("what computes", Backend.of(device) == Backend.CPU ? "the CPU" : "a GPU");
        all.put("comm_backend", carrier.name().toLowerCase(Locale.ROOT));
        all.put("process grid", grid.toString());
        all.put("version", Optional.ofNullable(JobMember.class.getPackage().getImplementationVersion())
            .orElse("not packaged"));
        return all;
    }
}
