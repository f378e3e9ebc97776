package org.isobar.train;

import java.util.Map;
import java.util.function.Consumer;

import org.isobar.backend.host.SocketCommunicator;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Job;
import org.isobar.distributed.JobSecret;
import org.isobar.distributed.Rendezvous;
import org.isobar.distributed.TimeLimits;

/** This process as one of a job's: meets the others, works with them, and tells them if it fails. */
final class JobMember {
    private JobMember() { }

    /**
     * Runs {@code work} with communicators to the job's other processes, which must agree on {@code facts}. All
     * connections are closed when it returns or throws, so memory that collectives used may be freed then.
     */
    static void run(RunConfig config, JobSecret secret, Map<String, String> facts, Device device,
        Consumer<Communicators> work) {
        try (Job job = Rendezvous.join(config.ranks(), secret, facts, TimeLimits.DEFAULT);
            Communicators communicators = new Communicators(config.grid(), job.rank(), device.ops()::copy,
                group -> SocketCommunicator.open(job, group))) {
            try {
                work.accept(communicators);
            } catch (CommunicationException theirs) {
                throw theirs;
            } catch (RuntimeException | Error ours) {
                job.watch().fail("rank " + job.rank() + ": " + ours.getMessage());
                throw ours;
            }
        }
    }
}
