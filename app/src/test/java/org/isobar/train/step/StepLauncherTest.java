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

/** Tests when steps are issued, captured and launched as graphs. */
class StepLauncherTest {
    private final List<String> seen = new ArrayList<>();

    @Test
    void firstStepIsIssuedAndEachInputBufferIsCapturedOnce() {
        assertEquals(List.of("issue", "capture", "launch", "capture", "launch", "launch", "launch", "close", "close"),
            steps(StepLaunch.GRAPH));
    }

    @Test
    void withoutGraphsAllStepsAreIssued() {
        assertEquals(List.of("issue", "issue", "issue", "issue", "issue"), steps(StepLaunch.EAGER));
    }

    /** Five steps on batches in two places; a target and an input at a place that another batch has, too. */
    private List<String> steps(StepLaunch mode) {
        try (CpuDevice cpu = new CpuDevice(1); DeviceArena arena = cpu.arena("batches", 1024)) {
            Tensor[] places = {arena.f32(1), arena.f32(1)};
            try (StepLauncher launcher = new StepLauncher(capturing(cpu), mode)) {
                for (int step = 0; step < 5; step++) {
                    launcher.run(places[0], places[step % 2], 0, true, () -> seen.add("issue"));
                }
            }
            return seen;
        }
    }

    /** Wraps {@code device} so that {@code capture} only records its calls. */
    private Device capturing(Device device) {
        return (Device) Proxy.newProxyInstance(StepLauncherTest.class.getClassLoader(), new Class<?>[] {Device.class},
            (proxy, method, arguments) -> {
                try {
                    return method.getName().equals("capture") ? capture() : method.invoke(device, arguments);
                } catch (InvocationTargetException thrown) {
                    throw thrown.getCause();
                }
            });
    }

    private DeviceGraph capture() {
        seen.add("capture");
        return new DeviceGraph() {
            @Override
            public void launch() {
                seen.add("launch");
            }

            @Override
            public void close() {
                seen.add("close");
            }
        };
    }
}
