package org.isobar.backend;

import java.util.function.Consumer;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.cuda.CudaDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceType;
import org.isobar.distributed.job.JobDevice;
import org.isobar.fault.UserException;

/** The back ends that compute, as {@code --device} names them. */
public enum Backend {
    /**
     * A GPU if the machine has a usable one, else the CPU; the log says which, and why. Under Slurm, the CPU only if
     * the process was given no GPU.
     */
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

    /** Opens the device; {@code log} also receives the warnings. */
    public JobDevice open(DeviceOptions options, Consumer<String> log) {
        return open(options, log, line -> log.accept("WARNING: " + line));
    }

    /**
     * Opens the device. {@link #CPU} does not look for GPUs.
     *
     * @param log  receives the chosen device, and the reason for the choice
     * @param warn receives lines about a GPU that {@link #AUTO} leaves unused
     * @throws UserException if this machine has no such device, or if {@link #AUTO} finds no usable GPU although Slurm
     *                       has given this process GPUs
     */
    public JobDevice open(DeviceOptions options, Consumer<String> log, Consumer<String> warn) {
        if (this == CPU) {
            return cpu(options, log, "");
        }
        GpuFindings found = GpuFindings.of(options);
        if (choose(found) == CUDA) {
            return gpu(found.report().gpus().size(), options, log,
                this == AUTO ? " (chosen by auto: there is a GPU)" : "");
        }
        found.warning().forEach(warn);
        return cpu(options, log, " (chosen by auto: " + found.obstacles().getFirst().what() + ")");
    }

    /**
     * What {@link #open} would open: {@link #CPU} or {@link #CUDA}.
     *
     * @throws UserException if this is {@link #CUDA} and no GPU can be used, or if this is {@link #AUTO}, no GPU can be
     *                       used, and Slurm has given this process GPUs
     */
    public Backend choose(GpuFindings found) {
        if (this == CPU) {
            return CPU;
        }
        if (found.obstacles().isEmpty()) {
            return CUDA;
        }
        if (this == CUDA) {
            throw new UserException("--device cuda: " + found.reasons());
        }
        found.refusal().ifPresent(refusal -> {
            throw new UserException(refusal);
        });
        return CPU;
    }

    /**
     * Number of processes on this machine that use memory of {@code device}, including this one. GPUs are shared only
     * with {@link CommBackend#HOST}; if each process then sees a single GPU, it counts as shared by all of them.
     */
    public static int sharers(Device device, DeviceOptions options) {
        boolean shared = device.type() == DeviceType.CPU || options.carrier() == CommBackend.HOST;
        return shared ? Math.ceilDiv(options.ranksHere(), device.visible()) : 1;
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
