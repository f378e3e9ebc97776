package org.isobar.backend.cuda.driver;

/**
 * A reason why this machine cannot train on a GPU.
 *
 * @param what   the reason, in few words
 * @param remedy what the user can do about it
 */
public record CudaObstacle(String what, String remedy) {
    /** The obstacle of a GPU that is too old for the kernels; {@code gpu} is its name and compute capability. */
    static CudaObstacle tooOld(String gpu) {
        return new CudaObstacle(gpu + " is too old", "a GPU of compute capability "
            + GpuInfo.OLDEST_CAPABILITY / 10 + ".0 (Ampere) or newer is needed");
    }

    @Override
    public String toString() {
        return what + ": " + remedy;
    }
}
