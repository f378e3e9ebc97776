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
 * Where all ranks of a run begin.
 *
 * @param run        tells this start of the run from all others
 * @param resumption what it goes on from; nothing if it begins with its first step
 */
public record RunStart(String run, Optional<Resumption> resumption) {
    private static final long NOWHERE = -1;
    private static final int EXACT_BITS = 53; // of a double

    /** What rank 0 has found; the others hear it. Each of them must see the checkpoint. */
    public static RunStart agreed(Optional<Resumption> found, RunConfig config, Device device,
        Communicators communicators) {
        double[] said = {found.map(Resumption::iteration).orElse(NOWHERE),
            ThreadLocalRandom.current().nextLong(1L << EXACT_BITS)};
        try (DeviceArena arena = device.arena("start", DeviceArena.align((long) said.length * DType.F64.bytes()))) {
            Tensor numbers = arena.allocate(DType.F64, said.length);
            device.upload(numbers, MemorySegment.ofArray(said));
            communicators.along(Axis.values()).broadcast(numbers, 0).await();
            device.download(MemorySegment.ofArray(said), numbers);
        }
        long iteration = (long) said[0];
        String run = Long.toHexString((long) said[1]);
        if (iteration == NOWHERE || config.ranks().rank() == 0) {
            return new RunStart(run, found);
        }
        return new RunStart(run, Optional.of(Resumption.of(config, iteration)));
    }
}
