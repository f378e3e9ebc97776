package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.config.RunConfig;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetConfig;
import org.isobar.data.DistributedSampler;
import org.isobar.data.Era5Dataset;
import org.isobar.data.channels.ChannelChoice;
import org.isobar.device.Device;
import org.isobar.device.ProfilerRanges;
import org.isobar.distributed.Communicators;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.metrics.RunMetrics;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.trace.TraceWindow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the profiler ranges of a step and the profiled window: they have the tutorial's names and places. */
class ProfilerRangesTest {
    private static final List<String> STEP_0 = step(0);
    private static final List<String> STEP_1 = step(1);

    @TempDir
    private static Path data;

    @Test
    void runMarksItsStepsAndTheProfiledWindow() {
        TinyRun.synthesize(data);
        RunConfig config = TinyRun.config(data, data, "num_iters=10"); // five epochs of two steps
        Recorder recorder = new Recorder();
        try (Device cpu = new CpuDevice(1)) {
            train(config, withRanges(cpu, recorder));
        }
        List<String> expected = new ArrayList<>();
        for (int epoch = 0; epoch < 5; epoch++) {
            expected.addAll(epoch == 3 ? List.of("profiler on") : List.of());
            expected.addAll(STEP_0);
            expected.addAll(epoch == 3 ? List.of("profiler off") : List.of());
            expected.addAll(STEP_1);
        }
        assertEquals(expected, recorder.seen);
    }

    private static List<String> step(int number) {
        return List.of("step " + number, "data copy in " + number, "end", "forward", "end", "optimizer", "end", "end");
    }

    private static void train(RunConfig config, Device device) {
        MemoryPlan plan = MemoryPlan.of(config.model(), 2);
        DatasetConfig four = new DatasetConfig(config.data().trainPath(), config.data().globalMeansPath(),
            config.data().globalStdsPath(), 16, 32, 3, 3, 1, OptionalLong.of(4));
        DistributedSampler sampler = new DistributedSampler(4, 2, 1, 0, true, 1);
        try (Era5Dataset dataset = Era5Dataset.open(four);
            DataLoader training = new DataLoader(device, dataset, sampler, 0);
            DataLoader validation = new DataLoader(device, dataset, sampler, 0);
            StepMemory memory = plan.allocate(device);
            RunLog log = new RunLog(Screen.plain(new ByteArrayOutputStream()))) {
            device.reserve(plan.footprint());
            Replica replica =
                new Replica(device, config.model(), 2, memory, Communicators.alone(device.ops().memory()::copy),
                GradientSync.Options.DEFAULT);
            replica.model().initialize(1);
            RunReport report = new RunReport(Screen.plain(new ByteArrayOutputStream()), log, Optional.empty(),
                RunMetrics.none(), data, 2,
                ChannelTags.of(ChannelChoice.FIRST, List.of("u10", "v10", "t2m")));
            new Trainer(config, replica, LoaderPair.of(config, training, validation), report, CheckpointSaver.NONE,
                Optional.empty(), TraceWindow.none()).run();
        }
    }

    /** Returns a device with other profiler ranges. */
    private static Device withRanges(Device device, ProfilerRanges ranges) {
        return (Device) Proxy.newProxyInstance(ProfilerRangesTest.class.getClassLoader(), new Class<?>[] {Device.class},
            (proxy, method, arguments) -> {
                try {
                    return method.getName().equals("ranges") ? ranges : method.invoke(device, arguments);
                } catch (InvocationTargetException thrown) {
                    throw thrown.getCause();
                }
            });
    }

    /** Records the start and end of ranges; ignores those of validation. */
    private static final class Recorder implements ProfilerRanges {
        private final List<String> seen = new ArrayList<>();

        @Override
        public Range open(String name) {
            if (name.startsWith("sample ")) { // of the loader
                return () -> { };
            }
            seen.add(name);
            return () -> seen.add("end");
        }

        @Override
        public void startProfiler() {
            seen.add("profiler on");
        }

        @Override
        public void stopProfiler() {
            seen.add("profiler off");
        }
    }
}
