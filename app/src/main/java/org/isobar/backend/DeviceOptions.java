package org.isobar.backend;

import java.util.Map;
import java.util.OptionalInt;

import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.distributed.job.RankEnvironment;

/**
 * The options that a device is opened with.
 *
 * @param threads     compute threads of a CPU; all cores if absent
 * @param cuda        how a GPU computes
 * @param ranks       rank of this process; the processes of one node take a GPU each
 * @param carrier     transport of collectives; with {@link CommBackend#HOST}, processes may share a GPU
 * @param environment of this process; it can hide GPUs and names the directory of compiled kernels
 */
public record DeviceOptions(OptionalInt threads, CudaOptions cuda, RankEnvironment ranks,
    CommBackend carrier, Map<String, String> environment) {

    /** The fastest options that give the same bits in each run. */
    public static DeviceOptions of(OptionalInt threads, RankEnvironment ranks, CommBackend carrier,
        Map<String, String> environment) {
        return new DeviceOptions(threads, new CudaOptions(CudaOptions.Fusion.FUSED,
            CudaOptions.SinglePrecision.of(environment), CudaOptions.QueryGradient.DETERMINISTIC), ranks, carrier,
            environment);
    }

    /** These options with other options for a GPU. */
    public DeviceOptions with(CudaOptions other) {
        return new DeviceOptions(threads, other, ranks, carrier, environment);
    }

    /** Number of processes of the job on this machine, as far as is known. */
    int ranksHere() {
        return Math.max(ranks.localRank() + 1, RankEnvironment.localWorldSize(environment));
    }

    /** Whether the run needs collectives between GPUs. */
    CudaReport.Reach reach() {
        return ranks.worldSize() > 1 && carrier != CommBackend.HOST ? CudaReport.Reach.SEVERAL_GPUS
            : CudaReport.Reach.ONE_GPU;
    }
}
