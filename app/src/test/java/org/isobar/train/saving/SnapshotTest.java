package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.List;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.ModelState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the host copy of the state that a checkpoint is written from. */
class SnapshotTest {
    @Test
    void tooLargeCopyIsRefused() {
        long elements = 1L << 44;
        try (DryRunDevice device = new DryRunDevice(); DeviceArena arena = device.arena("state", elements * 4)) {
            Tensor tensor = arena.allocate(DType.F32, elements);
            List<ModelState.Slice> share = List.of(new ModelState.Slice("w", tensor.shape(), Shard.whole(), tensor));
            String message = assertThrows(OutOfDeviceMemoryException.class, () -> new Snapshot(device, share, 0))
                .getMessage();
            assertTrue(message.matches("not enough memory for a checkpoint's copy: 65536\\.00 GB are needed, this "
                + "machine has \\d+\\.\\d\\d GB left; .* --keep=0 saves no checkpoints"), message);
        }
    }

    @Test
    void emptySnapshotNeedsNoMemory() {
        try (DryRunDevice device = new DryRunDevice(); Snapshot empty = new Snapshot(device, List.of(), 0)) {
            empty.take();
            assertEquals(List.of(), empty.pieces());
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void nonFiniteStateIsNotSaved(float spoilt) {
        try (Device device = new CpuDevice(1); DeviceArena arena = device.arena("state", 256)) {
            Tensor tensor = arena.allocate(DType.F32, 5);
            List<ModelState.Slice> share = List.of(new ModelState.Slice("w", tensor.shape(), Shard.whole(), tensor));
            float[] values = {1, -Float.MAX_VALUE, Float.MIN_VALUE, -0f, 2};
            float[] written = new float[5];
            try (Snapshot snapshot = new Snapshot(device, share, 0)) {
                device.upload(tensor, MemorySegment.ofArray(values));
                snapshot.take();
                snapshot.pieces().getFirst().values().copyTo(MemorySegment.ofArray(written));
                assertArrayEquals(values, written);
                values[4] = spoilt;
                device.upload(tensor, MemorySegment.ofArray(values));
                snapshot.take();
                TensorSlice piece = snapshot.pieces().getFirst();
                String message = assertThrows(UserException.class,
                    () -> piece.values().copyTo(MemorySegment.ofArray(written))).getMessage();
                assertTrue(message.startsWith("w has numbers that are not finite"), message);
            }
        }
    }
}
