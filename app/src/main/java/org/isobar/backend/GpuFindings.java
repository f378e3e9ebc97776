package org.isobar.backend;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

import org.isobar.backend.cuda.driver.CudaObstacle;
import org.isobar.backend.cuda.driver.CudaReport;

/**
 * Whether a run can use GPUs on this machine, and whether it was given any.
 *
 * @param report    driver, libraries and GPUs
 * @param obstacles why no GPU can be used, the most basic reason first; empty if one can
 * @param given     what says that this process was given GPUs
 */
public record GpuFindings(CudaReport report, List<CudaObstacle> obstacles, GivenGpus given) {
    private static final String FRAME = "*".repeat(100);
    private static final String IMAGE = "; or set ISOBAR_IMAGE to a container image that has the libraries of CUDA "
        + "and NCCL, or load a module that has them; to train on the CPU on purpose, pass --device=cpu";

    /** Keeps a copy. */
    public GpuFindings {
        obstacles = List.copyOf(obstacles);
    }

    /** Looks for what a run with these options needs. */
    public static GpuFindings of(DeviceOptions options) {
        CudaReport report = CudaReport.toRun(options.reach());
        return new GpuFindings(report, obstacles(report, options), GivenGpus.of(options.environment()));
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

    /** All obstacles with their remedies, in one line. */
    public String reasons() {
        return obstacles.stream().map(CudaObstacle::toString).collect(Collectors.joining("; "));
    }

    /**
     * Why {@code --device=auto} must not choose the CPU: Slurm has given this process GPUs, and none can be used.
     *
     * @return what was given, what is missing and what to do; empty if the CPU is a sound choice
     */
    public Optional<String> refusal() {
        return obstacles.isEmpty() || !given.slurm() || !given.any() ? Optional.empty()
            : Optional.of("--device auto: Slurm has given this process GPUs (" + given + "), and none can be used: "
                + reasons() + IMAGE);
    }

    /** The lines that warn of a GPU of this machine that is left unused; empty if there is none. */
    public List<String> warning() {
        if (obstacles.isEmpty() || !given.any() && report.gpus().isEmpty()) {
            return List.of();
        }
        String gpus = given.any() ? given.toString() : report.gpus().getFirst().toString();
        return List.of(FRAME, "THE GPU OF THIS MACHINE IS NOT USED (" + gpus + "): the CPU computes, which takes many "
            + "times as long.", "Reason: " + reasons(), "--device=cpu says that this is intended; --device=cuda ends "
            + "the run if no GPU can be used.", FRAME);
    }
}
