package org.isobar.train.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.backend.CommBackend;
import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.tensor.DType;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** Runs that need too much memory are refused, and the proposed settings fit. */
class MemoryCheckTest {
    private static final VitConfig BASE = new VitConfig(360, 720, 8, 20, 20, 384, 12, 8, 1536, 0);
    private static final long SAMPLE = 2L * 20 * 360 * 720 * 4;
    private static final int SLOTS = 6;
    private static final long BASE_PARAMETERS = 23_832_960;
    private static final long LOADERS = 1024;
    private static final long PROGRAM = 128L << 20;

    @Test
    void cpuMemoryIncludesTheProgram() {
        try (Device device = new CpuDevice(1)) {
            MemoryCheck.Run run = run(1, DType.F32);
            long needed = bytes(device, 1) + SLOTS * SAMPLE + LOADERS + PROGRAM;
            assertEquals(MemoryPlan.of(BASE, 1), MemoryCheck.require(device, run, needed));
            String message = refusal(device, run, needed - 1);
            assertTrue(message.matches("this run needs 1\\.\\d\\d GB of memory \\(0\\.\\d\\d parameters and optimizer, "
                + "0\\.\\d\\d activations, 0\\.\\d\\d temporaries, 0\\.05 workspace, 0\\.23 batches, "
                + "0\\.13 the program\\) and 1\\.\\d\\d GB are free; "
                + "it fits with " + (device.supports(DType.BF16) ? "--amp_mode bf16, or with " : "")
                + "--recompute mlp; or lower embed_dim or depth, or raise patch_size"), message);
        }
    }

    @Test
    void smallerBatchThatFitsIsFound() {
        try (Device device = new CpuDevice(1)) {
            long available = bytes(device, 5) + 5 * SLOTS * SAMPLE + LOADERS + PROGRAM;
            String message = refusal(device, run(16, DType.F32), available);
            assertTrue(message.contains("; it fits with --local_batch_size 5" + (device.supports(DType.BF16)
                ? ", or with --amp_mode bf16 --local_batch_size" : "; or lower embed_dim")), message);
            MemoryCheck.require(device, run(5, DType.F32), available);
            refusal(device, run(6, DType.F32), available);
        }
    }

    /** The state holds the predictions of a batch. */
    @Test
    void aSmallerBatchIsFoundIfTheStateOfThisOneIsTooLarge() {
        try (Device device = new DryRunDevice()) {
            long available = 4L << 30;
            assertTrue(MemoryPlan.of(BASE, 1024).stateBytes() > available);
            Matcher advice = Pattern.compile("; it fits with --local_batch_size (\\d+), or with")
                .matcher(refusal(device, run(1024, DType.F32), available));
            assertTrue(advice.find());
            MemoryCheck.require(device, run(Integer.parseInt(advice.group(1)), DType.F32), available);
            String state = refusal(device, run(1024, DType.F32), MemoryPlan.of(BASE, 1).stateBytes() - 1);
            assertTrue(state.endsWith("; no batch is small enough: lower embed_dim or depth, or raise patch_size"),
                state);
        }
    }

    @Test
    void smallerMicroBatchesAreProposed() {
        try (Device device = new CpuDevice(1)) {
            long available = bytes(device, 7) + 7 * SLOTS * SAMPLE + LOADERS + PROGRAM
                + MemoryPlan.of(BASE, 1).savedBytes();
            String message = refusal(device, run(16, DType.F32, MemoryCheck.Saving.CHECKPOINTS), available);
            assertTrue(message.contains(
                ", or with --local_batch_size 4 --accumulate 4 (the same global batch); "), message);
        }
    }

    /** Micro-batches need the memory of one, and the losses' terms of all samples: 16 bytes each. */
    @Test
    void microBatchesShareTheirMemory() {
        ProcessGrid alone = ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of());
        MemoryPlan one = MemoryPlan.of(BASE, 2, DType.F32);
        MemoryPlan eight = MemoryPlan.of(BASE, 2, 8, DType.F32, alone, 0);
        assertEquals(one.keptBytes(), eight.keptBytes());
        assertEquals(one.scratchBytes(), eight.scratchBytes());
        assertEquals(DeviceArena.align((21 + 2 * 16) * Double.BYTES) - DeviceArena.align((21 + 2 * 2) * Double.BYTES),
            eight.stateBytes() - one.stateBytes());
        assertEquals(8 * one.stepFlops(), eight.stepFlops());
    }

    @Test
    void sizesBeyondAllMemoryAreRefused() {
        VitConfig vast = new VitConfig(32768, 32768, 1, 65536, 65536, 1 << 20, 1, 1024, 1 << 22, 0);
        for (int batch : new int[] {1, 1 << 10, 1 << 20}) {
            MemoryCheck.Run run = new MemoryCheck.Run(vast, batch, 1, DType.F32, new MemoryCheck.Member(
                ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of()), 0, CommBackend.AUTO),
                new MemoryCheck.Inputs(SAMPLE, _ -> SLOTS, 0), MemoryCheck.Saving.NOTHING);
            try (Device device = new CpuDevice(1)) {
                String message = refusal(device, run, 1L << 40);
                assertTrue(message.startsWith("this run needs"), message);
            }
        }
    }

    /** Compiled code may throw it without its message. A division by zero is a fault of the program. */
    @Test
    void anOverflowIsKnownWithoutItsMessage() {
        assertEquals(Optional.empty(), MemoryCheck.unlessOverflow(() -> Math.multiplyExact(1L << 62, 4L)));
        assertEquals(Optional.empty(), MemoryCheck.unlessOverflow(() -> {
            throw new ArithmeticException();
        }));
        int zero = 0;
        assertThrows(ArithmeticException.class, () -> MemoryCheck.unlessOverflow(() -> 1 / zero));
    }

    /** The dry-run device supports every type, like a GPU. */
    @Test
    void halfPrecisionIsProposedIfTheDeviceSupportsIt() {
        try (Device device = new DryRunDevice()) {
            long available = MemoryPlan.of(BASE, 16, DType.BF16).bytes() + 16 * SLOTS * SAMPLE + LOADERS + PROGRAM;
            String message = refusal(device, run(16, DType.F32), available);
            assertTrue(message.matches(".* free; it fits with --local_batch_size \\d+, or with --amp_mode bf16"
                + ", or with --recompute block; .*"), message);
            assertEquals(MemoryPlan.of(BASE, 16, DType.BF16),
                MemoryCheck.require(device, run(16, DType.BF16), available));
            String tighter = refusal(device, run(16, DType.F32), available - 1);
            assertTrue(tighter.contains("or with --amp_mode bf16 --local_batch_size 15, or with --recompute block; "),
                tighter);
        }
    }

    /** The copy has weights and two moments without padding; ranks with equal weights divide it among them. */
    @Test
    void cpuMemoryIncludesTheCopyForCheckpoints() {
        long all = MemoryPlan.of(BASE, 1).savedBytes();
        assertEquals(3 * 4 * BASE_PARAMETERS, all);
        ProcessGrid replicas = ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of(Axis.DP, 2));
        assertEquals(all, MemoryPlan.of(BASE, 1, replicas, 0).savedBytes()
            + MemoryPlan.of(BASE, 1, replicas, 1).savedBytes());
        assertEquals(0.5, (double) MemoryPlan.of(BASE, 1, replicas, 1).savedBytes() / all, 0.02);
        MemoryCheck.Run run = run(1, DType.F32, MemoryCheck.Saving.CHECKPOINTS);
        try (Device device = new CpuDevice(1)) {
            long needed = bytes(device, 1) + all + SLOTS * SAMPLE + LOADERS + PROGRAM;
            MemoryCheck.require(device, run, needed);
            String message = refusal(device, run, needed - 1);
            assertTrue(message.contains(", 0.27 a checkpoint's copy, 0.23 batches, "), message);
        }
        try (Device elsewhere = new DryRunDevice()) { // like a GPU, which does not hold the copy
            MemoryCheck.require(elsewhere, run, MemoryPlan.of(BASE, 1).bytes() + SLOTS * SAMPLE + LOADERS + PROGRAM);
        }
    }

    /** Bytes without the part that is equal for all models. */
    private static long bytes(Device device, int batch) {
        MemoryPlan plan = MemoryPlan.of(BASE, batch);
        return plan.bytes() + device.workspaceBytes(plan.footprint());
    }

    private static MemoryCheck.Run run(int batch, DType compute) {
        return run(batch, compute, MemoryCheck.Saving.NOTHING);
    }

    private static MemoryCheck.Run run(int batch, DType compute, MemoryCheck.Saving saving) {
        ProcessGrid alone = ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of());
        return new MemoryCheck.Run(BASE, batch, 1, compute, new MemoryCheck.Member(alone, 0, CommBackend.AUTO),
            new MemoryCheck.Inputs(SAMPLE, samples -> SLOTS, LOADERS), saving);
    }

    private static String refusal(Device device, MemoryCheck.Run run, long available) {
        return assertThrows(OutOfDeviceMemoryException.class, () -> MemoryCheck.require(device, run, available))
            .getMessage();
    }
}
