package org.isobar.train.saving;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * How all ranks of a run start.
 *
 * @param run        random identifier of this start of the run
 * @param resumption the checkpoint to resume from; empty if the run starts at its first step
 */
public record RunStart(String run, Optional<Resumption> resumption) {
    private static final long NO_CHECKPOINT = -1;
    private static final int EXACT_BITS = 53; // integers that a double represents exactly

    /**
     * Broadcasts the start from rank 0. Every rank opens the checkpoint, so all of them need access to its directory.
     *
     * @param found the checkpoint that rank 0 has found; ignored on other ranks
     */
    public static RunStart agreed(Optional<Resumption> found, RunConfig config, Device device,
        Communicators communicators) {
        double[] values = {found.map(Resumption::iteration).orElse(NO_CHECKPOINT),
            ThreadLocalRandom.current().nextLong(1L << EXACT_BITS)};
        try (DeviceArena arena = device.arena("start", DeviceArena.align((long) values.length * DType.F64.bytes()))) {
            Tensor numbers = arena.allocate(DType.F64, values.length);
            device.upload(numbers, MemorySegment.ofArray(values));
            communicators.along(Axis.values()).broadcast(numbers, 0).await();
            device.download(MemorySegment.ofArray(values), numbers);
        }
        long iteration = (long) values[0];
        String run = Long.toHexString((long) values[1]);
        if (iteration == NO_CHECKPOINT || config.ranks().rank() == 0) {
            return new RunStart(run, found);
        }
        return new RunStart(run, Optional.of(Resumption.of(config, iteration)));
    }

    /** Waits until all ranks have called this, if rank 0 calls it when it has proven that collectives match. */
    public static void meet(RunConfig config, Communicators communicators) {
        if (config.provesCollectives()) {
            communicators.along(Axis.values()).barrier().await();
        }
    }
}
