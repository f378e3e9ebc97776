package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.host.GridRanks;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.Test;

/** The greatest signal of all ranks, read a step late. */
class RunSignalsTest {
    @Test
    void theSignalOfAStepIsReadWhenTheNextIsIssued() {
        try (CpuDevice device = new CpuDevice(1); DeviceArena arena = device.arena("signals", 1024)) {
            RunSignals signals = alone(device, arena);
            step(signals, RunSignal.STOP, 8);
            assertEquals(RunSignal.NONE, signals.agreed());
            step(signals, RunSignal.NONE, 9);
            assertEquals(RunSignal.STOP, signals.agreed());
            assertEquals(8, signals.agreedStep());
            signals.settle();
            assertEquals(RunSignal.NONE, signals.agreed());
            assertEquals(9, signals.agreedStep());
            signals.settle();
            assertEquals(9, signals.agreedStep());
        }
    }

    @Test
    void allRanksLearnTheGreatest() throws Exception {
        List<RunSignal> raised = List.of(RunSignal.NONE, RunSignal.STOP, RunSignal.SAVE);
        List<RunSignal> agreed = GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.DP, 3)),
            (device, communicators) -> {
                try (DeviceArena arena = device.arena("signals", 1024)) {
                    return new RunSignals(device, communicators.along(Axis.DP), arena.allocate(DType.F64, 1))
                        .agree(raised.get(communicators.coordinate(Axis.DP)));
                }
            });
        assertEquals(List.of(RunSignal.STOP, RunSignal.STOP, RunSignal.STOP), agreed);
    }

    private static RunSignals alone(CpuDevice device, DeviceArena arena) {
        return new RunSignals(device, Communicators.alone(device.ops().memory()::copy).along(Axis.DP),
            arena.allocate(DType.F64, 1));
    }

    private static void step(RunSignals signals, RunSignal mine, long number) {
        signals.raise(mine);
        signals.exchange().await();
        signals.issued(number);
    }
}
