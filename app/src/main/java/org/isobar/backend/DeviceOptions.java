package org.isobar.backend;

import java.util.Map;
import java.util.OptionalInt;

import org.isobar.backend.cuda.CudaOptions;
import org.isobar.distributed.RankEnvironment;

/**
 * What a device is opened with.
 *
 * @param threads     compute threads of a CPU, all cores where absent
 * @param cuda        how a GPU computes
 * @param ranks       which process this is: those of one node take a GPU each
 * @param environment of this process: it hides GPUs and names the directory of compiled kernels
 */
public record DeviceOptions(OptionalInt threads, CudaOptions cuda, RankEnvironment ranks,
    Map<String, String> environment) {

    /** The fastest way of each device that gives the same bits each time. */
    public static DeviceOptions of(OptionalInt threads, RankEnvironment ranks, Map<String, String> environment) {
        return new DeviceOptions(threads, new CudaOptions(CudaOptions.Fusion.FUSED,
            CudaOptions.SinglePrecision.of(environment), CudaOptions.QueryGradient.DETERMINISTIC), ranks, environment);
    }

    /** The same device, if it is a GPU, in another way. */
    public DeviceOptions with(CudaOptions other) {
        return new DeviceOptions(threads, other, ranks, environment);
    }
}
