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
import org.isobar.device.DeviceType;
import org.isobar.distributed.job.JobDevice;
import org.isobar.fault.UserException;

/** The back ends that compute, as {@code --device} names them. */
public enum Backend {
    /** A GPU if the machine has a usable one, else the CPU; the log says which, and why. */
    AUTO,
    /** This machine's processor. */
    CPU,
    /** An NVIDIA GPU. */
    CUDA;

    /** The back end of a device. */
    public static Backend of(Device device) {
        return switch (device.type()) {
            case CPU -> CPU;
            case CUDA -> CUDA;
        };
    }

    /**
     * Opens the device. {@link #CPU} does not look for GPUs.
     *
     * @param log receives the chosen device, and the reason for the choice
     * @throws UserException if this machine has no such device
     */
    public JobDevice open(DeviceOptions options, Consumer<String> log) {
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
     * Number of processes on this machine that use memory of {@code device}, including this one. GPUs are shared only
     * with {@link CommBackend#HOST}; if each process then sees a single GPU, it counts as shared by all of them.
     */
    public static int sharers(Device device, DeviceOptions options) {
        boolean shared = device.type() == DeviceType.CPU || options.carrier() == CommBackend.HOST;
        return shared ? Math.ceilDiv(options.ranksHere(), device.visible()) : 1;
    }

    /** A process that sees a single GPU is not refused, because Slurm may have given each process its own. */
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

    private static JobDevice cpu(DeviceOptions options, Consumer<String> log, String why) {
        if (options.carrier() == CommBackend.NCCL) {
            throw new UserException("--comm_backend nccl connects GPUs, but the CPU computes" + why
                + "; use --comm_backend auto or host");
        }
        CpuDevice device = new CpuDevice(options.threads().orElse(Runtime.getRuntime().availableProcessors()));
        log.accept("Device: " + device.description() + why);
        return device;
    }

    private static JobDevice gpu(int visible, DeviceOptions options, Consumer<String> log, String why) {
        CudaDevice device = new CudaDevice(options.ranks().localRank() % visible, options.cuda(),
            options.environment(), log);
        log.accept("Device: " + device.description() + why);
        return device;
    }
}
