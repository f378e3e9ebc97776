package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Arena;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.distributed.Shard;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** The copy that a checkpoint is written from needs memory that may not be there. */
class SnapshotTest {
    @Test
    void moreThanTheMachineHasIsRefused() {
        long elements = 1L << 44;
        try (DryRunDevice device = new DryRunDevice(); Arena arena = device.arena("state", elements * 4)) {
            Tensor tensor = arena.allocate(DType.F32, elements);
            List<ModelState.Slice> share = List.of(new ModelState.Slice("w", tensor.shape(), Shard.whole(), tensor));
            String message = assertThrows(OutOfDeviceMemoryException.class, () -> new Snapshot(device, share))
                .getMessage();
            assertTrue(message.matches("not enough memory for a checkpoint's copy: 65536\\.00 GB are needed, this "
                + "machine has \\d+\\.\\d\\d GB left; .* --keep=0 saves no checkpoints"), message);
        }
    }

    @Test
    void nothingNeedsNothing() {
        try (DryRunDevice device = new DryRunDevice(); Snapshot empty = new Snapshot(device, List.of())) {
            empty.take();
            assertEquals(List.of(), empty.pieces());
        }
    }
}
