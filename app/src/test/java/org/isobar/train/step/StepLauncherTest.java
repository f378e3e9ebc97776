package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.DeviceGraph;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** What is issued, recorded and replayed, and when. */
class StepLauncherTest {
    private final List<String> seen = new ArrayList<>();

    @Test
    void theFirstStepIsIssuedAndEachPlaceOfABatchRecordedOnce() {
        assertEquals(List.of("issue", "record", "replay", "record", "replay", "replay", "replay", "close", "close"),
            steps(Replica.Steps.REPLAYED));
    }

    @Test
    void otherwiseAllAreIssued() {
        assertEquals(List.of("issue", "issue", "issue", "issue", "issue"), steps(Replica.Steps.ISSUED));
    }

    /** Five steps on batches in two places; a target and an input at a place that another batch has, too. */
    private List<String> steps(Replica.Steps mode) {
        try (CpuDevice cpu = new CpuDevice(1); DeviceArena arena = cpu.arena("batches", 1024)) {
            Tensor[] places = {arena.f32(1), arena.f32(1)};
            try (StepLauncher recorder = new StepLauncher(recording(cpu), mode)) {
                for (int step = 0; step < 5; step++) {
                    recorder.run(places[0], places[step % 2], () -> seen.add("issue"));
                }
            }
            return seen;
        }
    }

    /** The same device, but that it pretends to record. */
    private Device recording(Device device) {
        return (Device) Proxy.newProxyInstance(StepLauncherTest.class.getClassLoader(), new Class<?>[] {Device.class},
            (proxy, method, arguments) -> {
                try {
                    return method.getName().equals("record") ? record() : method.invoke(device, arguments);
                } catch (InvocationTargetException thrown) {
                    throw thrown.getCause();
                }
            });
    }

    private DeviceGraph record() {
        seen.add("record");
        return new DeviceGraph() {
            @Override
            public void replay() {
                seen.add("replay");
            }

            @Override
            public void close() {
                seen.add("close");
            }
        };
    }
}
