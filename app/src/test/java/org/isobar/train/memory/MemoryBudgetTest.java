package org.isobar.train.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

import org.isobar.backend.CommBackend;
import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Device;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.tensor.DType;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** A run is refused beyond the memory limit of a process, and each proposed change fits. */
class MemoryBudgetTest {
    private static final VitConfig MODEL = new VitConfig(64, 128, 8, 20, 20, 192, 6, 6, 768, 0);
    private static final VitConfig DEEP = new VitConfig(16, 32, 8, 20, 20, 1536, 8, 6, 6144, 0);
    private static final MemoryBudget LIMIT = MemoryBudget.of(Optional.of(1L << 30), 8L << 30);

    @Test
    void theSmallerOfLimitAndFreeMemoryHolds() {
        assertEquals(new MemoryBudget(1L << 30, MemoryBudget.Source.LIMIT), LIMIT);
        assertEquals(new MemoryBudget(1L << 30, MemoryBudget.Source.FREE),
            MemoryBudget.of(Optional.of(2L << 30), 1L << 30));
        assertEquals(new MemoryBudget(7, MemoryBudget.Source.FREE), MemoryBudget.of(Optional.empty(), 7));
    }

    @Test
    void theProposedChangesFit() {
        try (Device device = new CpuDevice(1)) {
            String message = assertThrows(OutOfDeviceMemoryException.class,
                () -> MemoryCheck.require(device, run(128, 1, Map.of()), LIMIT)).getMessage();
            assertTrue(message.matches("this run needs 1\\.\\d\\d GB of memory \\(.* activations, .*\\) and "
                + "memory_limit allows each process 1\\.00 GB, 0\\.\\d\\d GB too few; it fits with "
                + "--local_batch_size .*, or with --local_batch_size 64 --accumulate 2 \\(the same global batch\\), or "
                + "with --tensor_parallel 2 and 2 times as many processes, or with --context_parallel 2 and 2 times "
                + "as many processes; or lower .*"), message);
            MemoryCheck.require(device, run(64, 2, Map.of()), LIMIT);
            MemoryCheck.require(device, run(128, 1, Map.of(Axis.TP, 2)), LIMIT);
            MemoryCheck.require(device, run(128, 1, Map.of(Axis.CP, 2)), LIMIT);
        }
    }

    /** A device of a dry run is like a GPU: groups of several ranks have communicators of NCCL. */
    @Test
    void proposedLayoutsHaveMemoryForTheirCommunicators() {
        try (Device device = new DryRunDevice()) {
            MemoryBudget limit = new MemoryBudget(3L << 30, MemoryBudget.Source.LIMIT);
            String message = assertThrows(OutOfDeviceMemoryException.class,
                () -> MemoryCheck.require(device, run(512, 1, Map.of()), limit)).getMessage();
            List<Map<Axis, Integer>> layouts = Pattern.compile("--(tensor|context)_parallel (\\d+)").matcher(message)
                .results().map(way -> Map.of(way.group(1).equals("tensor") ? Axis.TP : Axis.CP,
                    Integer.parseInt(way.group(2)))).toList();
            assertFalse(layouts.isEmpty(), message);
            layouts.forEach(sizes -> MemoryCheck.require(device, run(512, 1, sizes), limit));
        }
    }

    /** Tensor parallelism cuts the state, which alone is too large. */
    @Test
    void moreProcessesAreProposedIfTheStateIsTooLarge() {
        try (Device device = new CpuDevice(1)) {
            MemoryBudget tight = new MemoryBudget(MemoryPlan.of(DEEP, 1).stateBytes() - 1, MemoryBudget.Source.LIMIT);
            MemoryCheck.Run run = run(DEEP, 1, 1, Map.of());
            String message = assertThrows(OutOfDeviceMemoryException.class,
                () -> MemoryCheck.require(device, run, tight)).getMessage();
            assertTrue(message.contains("; it fits with --tensor_parallel 2 and 2 times as many processes; or lower"),
                message);
            MemoryCheck.require(device, run(DEEP, 1, 1, Map.of(Axis.TP, 2)), tight);
        }
    }

    /** Six heads can be shared by two ranks, and not by four. */
    @Test
    void layoutsThatCannotCutTheModelAreNotProposed() {
        try (Device device = new CpuDevice(1)) {
            MemoryBudget tight = new MemoryBudget(700L << 20, MemoryBudget.Source.LIMIT);
            String message = assertThrows(OutOfDeviceMemoryException.class,
                () -> MemoryCheck.require(device, run(128, 1, Map.of(Axis.TP, 2)), tight)).getMessage();
            assertTrue(message.contains("or with --context_parallel 2 and 2 times as many processes; or lower"),
                message);
            assertFalse(message.contains("--tensor_parallel"), message);
        }
    }

    private static MemoryCheck.Run run(int batch, int microBatches, Map<Axis, Integer> sizes) {
        return run(MODEL, batch, microBatches, sizes);
    }

    private static MemoryCheck.Run run(VitConfig model, int batch, int microBatches, Map<Axis, Integer> sizes) {
        return new MemoryCheck.Run(model, batch, microBatches, DType.F32,
            new MemoryCheck.Member(ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, sizes), 0, CommBackend.AUTO),
            new MemoryCheck.Inputs(1 << 16, _ -> 2, 0), MemoryCheck.Saving.CHECKPOINTS);
    }
}
