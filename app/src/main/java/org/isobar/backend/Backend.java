package org.isobar.backend;

import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.CudaReport;
import org.isobar.device.Device;
import org.isobar.fault.UserException;

/** What can compute, as {@code --device} names it. */
public enum Backend {
    /** The fastest that there is; the log says which and why. */
    AUTO,
    /** This machine's processor. */
    CPU,
    /** An NVIDIA GPU. */
    CUDA;

    /** The one that opened a device. */
    public static Backend of(Device device) {
        return device instanceof CpuDevice ? CPU : CUDA;
    }

    /**
     * Opens the device. Where a CPU is asked for, nothing looks for a GPU.
     *
     * @param log told what was chosen, and why where there was a choice
     * @throws UserException if there is no such device here
     */
    public Device open(DeviceOptions options, Consumer<String> log) {
        if (this == CPU) {
            return cpu(options, log, "");
        }
        List<CudaReport.Obstacle> obstacles = obstacles(options);
        if (obstacles.isEmpty()) {
            return gpu(options, log, this == AUTO ? " (chosen by auto: there is a GPU)" : "");
        }
        if (this == AUTO) {
            return cpu(options, log, " (chosen by auto: " + obstacles.getFirst().what() + ")");
        }
        throw new UserException("--device cuda: " + obstacles.stream().map(CudaReport.Obstacle::toString)
            .collect(Collectors.joining("; ")));
    }

    private static List<CudaReport.Obstacle> obstacles(DeviceOptions options) {
        return CudaReport.toRun().obstacles(options.environment());
    }

    private static Device cpu(DeviceOptions options, Consumer<String> log, String why) {
        CpuDevice device = new CpuDevice(options.threads().orElse(Runtime.getRuntime().availableProcessors()));
        log.accept("Device: " + device.description() + why);
        return device;
    }

    private static Device gpu(DeviceOptions options, Consumer<String> log, String why) {
        CudaDevice device = new CudaDevice(options.ranks().localRank(), options.cuda(), options.environment(), log);
        log.accept("Device: " + device.description() + why);
        return device;
    }
}
