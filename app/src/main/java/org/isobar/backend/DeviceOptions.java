package org.isobar.backend;

import java.util.Map;
import java.util.OptionalInt;

import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.distributed.job.RankEnvironment;

/**
 * What a device is opened with.
 *
 * @param threads     compute threads of a CPU, all cores where absent
 * @param cuda        how a GPU computes
 * @param ranks       which process this is: those of one node take a GPU each
 * @param carrier     of what it tells other processes: it decides whether those may share a GPU
 * @param environment of this process: it hides GPUs and names the directory of compiled kernels
 */
public record DeviceOptions(OptionalInt threads, CudaOptions cuda, RankEnvironment ranks,
    CommBackend carrier, Map<String, String> environment) {

    /** The fastest way of each device that gives the same bits each time. */
    public static DeviceOptions of(OptionalInt threads, RankEnvironment ranks, CommBackend carrier,
        Map<String, String> environment) {
        return new DeviceOptions(threads, new CudaOptions(CudaOptions.Fusion.FUSED,
            CudaOptions.SinglePrecision.of(environment), CudaOptions.QueryGradient.DETERMINISTIC), ranks, carrier,
            environment);
    }

    /** The same device, if it is a GPU, in another way. */
    public DeviceOptions with(CudaOptions other) {
        return new DeviceOptions(threads, other, ranks, carrier, environment);
    }

    /** Processes on this machine, as far as is known. */
    int ranksHere() {
        return Math.max(ranks.localRank() + 1, RankEnvironment.localWorldSize(environment));
    }

    /** What a GPU must be able to do. */
    CudaReport.Reach reach() {
        return ranks.worldSize() > 1 && carrier != CommBackend.HOST ? CudaReport.Reach.SEVERAL_GPUS
            : CudaReport.Reach.ONE_GPU;
    }
}
