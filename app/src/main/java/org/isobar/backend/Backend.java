package org.isobar.backend;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.driver.CudaObstacle;
import org.isobar.backend.cuda.driver.CudaReport;
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
        CudaReport report = CudaReport.toRun(options.reach());
        List<CudaObstacle> obstacles = obstacles(report, options);
        if (obstacles.isEmpty()) {
            return gpu(report.gpus().size(), options, log, this == AUTO ? " (chosen by auto: there is a GPU)" : "");
        }
        if (this == AUTO) {
            return cpu(options, log, " (chosen by auto: " + obstacles.getFirst().what() + ")");
        }
        throw new UserException("--device cuda: " + obstacles.stream().map(CudaObstacle::toString)
            .collect(Collectors.joining("; ")));
    }

    /**
     * How many processes of this machine take memory of {@code device}, one of them being this. Where each is shown one
     * GPU alone, and sharing is allowed, it counts as shared.
     */
    public static int sharers(Device device, DeviceOptions options) {
        return switch (device) {
            case CudaDevice gpu when options.carrier() == CommBackend.HOST ->
                Math.ceilDiv(options.ranksHere(), gpu.visible());
            case CudaDevice _ -> 1;
            default -> options.ranksHere();
        };
    }

    /** Where a process sees one GPU alone, Slurm may have given each its own. */
    private static List<CudaObstacle> obstacles(CudaReport report, DeviceOptions options) {
        List<CudaObstacle> obstacles =
            new ArrayList<>(report.obstacles(options.reach(), options.environment()));
        int visible = report.gpus().size();
        if (visible > 1 && options.ranksHere() > visible && options.carrier() != CommBackend.HOST) {
            obstacles.add(new CudaObstacle(options.ranksHere() + " processes on this machine, which shows them "
                + visible + " GPUs", "start as many processes on it, or let them share by --comm_backend=host"));
        }
        return obstacles;
    }

    private static Device cpu(DeviceOptions options, Consumer<String> log, String why) {
        if (options.carrier() == CommBackend.NCCL) {
            throw new UserException("--comm_backend nccl connects GPUs, but the CPU computes" + why
                + "; use --comm_backend auto or host");
        }
        CpuDevice device = new CpuDevice(options.threads().orElse(Runtime.getRuntime().availableProcessors()));
        log.accept("Device: " + device.description() + why);
        return device;
    }

    private static Device gpu(int visible, DeviceOptions options, Consumer<String> log, String why) {
        CudaDevice device = new CudaDevice(options.ranks().localRank() % visible, options.cuda(),
            options.environment(), log);
        log.accept("Device: " + device.description() + why);
        return device;
    }
}
