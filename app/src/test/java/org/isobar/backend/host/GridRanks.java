package org.isobar.backend.host;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;

/** All ranks of a grid as threads of this process, each with a device of one thread. */
public final class GridRanks {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private GridRanks() { }

    /** Work of one rank. */
    @FunctionalInterface
    public interface Work<T> {
        /** Does it. */
        T run(Device device, Communicators communicators) throws Exception;
    }

    /** What each rank's work returns, by rank. */
    public static <T> List<T> run(ProcessGrid grid, Work<T> work) throws Exception {
        return run(grid, UnaryOperator.identity(), work);
    }

    /** The same through communicators that {@code dress} makes of the true ones. */
    public static <T> List<T> run(ProcessGrid grid, UnaryOperator<Communicator> dress, Work<T> work)
        throws Exception {
        InProcessHub hub = new InProcessHub(LIMIT);
        try (ExecutorService ranks = Executors.newFixedThreadPool(grid.worldSize())) {
            List<Callable<T>> tasks = new ArrayList<>();
            for (int rank = 0; rank < grid.worldSize(); rank++) {
                int mine = rank;
                tasks.add(() -> {
                    try (Device device = new CpuDevice(1);
                        Communicators communicators = new Communicators(grid, mine, device.ops()::copy,
                            group -> dress.apply(hub.open(group)))) {
                        return work.run(device, communicators);
                    }
                });
            }
            return results(ranks.invokeAll(tasks));
        }
    }

    /** Throws what one rank threw by itself rather than what the others threw because of it. */
    private static <T> List<T> results(List<Future<T>> futures) throws Exception {
        List<T> results = new ArrayList<>();
        ExecutionException thrown = null;
        for (Future<T> future : futures) {
            try {
                results.add(future.get());
            } catch (ExecutionException failed) {
                thrown = thrown == null || thrown.getCause() instanceof CommunicationException ? failed : thrown;
            }
        }
        if (thrown != null) {
            throw thrown;
        }
        return results;
    }
}
