package org.isobar.train.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.OperationProxy;
import org.isobar.device.ProfilerRanges;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests what a tracer records, and that it records no more than it may. */
class StepTracerTest {
    @ParameterizedTest
    @CsvSource({"10, 'fill, copy, fill', 3, false", "2, 'fill, copy', 2, true"})
    void recordsUpToALimit(int limit, String operations, int ranges, boolean cut) {
        StepTracer tracer = new StepTracer();
        try (CpuDevice cpu = new CpuDevice(1);
            DeviceArena arena = cpu.arena("numbers", DeviceArena.align(64) * 2)) {
            Device device = OperationProxy.of(Device.class, cpu, tracer);
            Tensor a = arena.f32(16);
            Tensor b = arena.f32(16);
            device.ops().memory().fill(a, 1); // before the trace
            tracer.begin(device, limit);
            for (int i = 0; i < 3; i++) {
                try (ProfilerRanges.Range _ = device.ranges().open("range " + i)) {
                    if (i == 1) {
                        device.ops().memory().copy(b, a);
                    } else {
                        device.ops().memory().fill(a, i);
                    }
                }
            }
            RankTimeline timeline = tracer.end(0);
            device.ops().memory().fill(a, 1); // after the trace
            assertEquals(List.of(operations.split(", ")), names(timeline, StepTracer.OPERATIONS));
            assertEquals(ranges, names(timeline, StepTracer.RANGES).size());
            assertEquals(cut, timeline.cut());
        }
    }

    private static List<String> names(RankTimeline timeline, String lane) {
        return timeline.spans().stream().filter(span -> span.lane().equals(lane)).map(RankTimeline.Span::name).toList();
    }
}
