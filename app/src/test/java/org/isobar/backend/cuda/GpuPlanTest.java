package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.isobar.backend.cuda.ops.CudaTensorOps;
import org.isobar.tensor.DType;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** What the tutorial's largest preset needs of a GPU, by the plan that is exact. */
class GpuPlanTest {
    private static final VitConfig MP = new VitConfig(360, 720, 8, 20, 20, 1024, 12, 8, 4096, 0);
    private static final int BATCH = 16;
    private static final long BATCH_BYTES = BATCH * 2L * 20 * 360 * 720 * 4;

    /** The tutorial's own needs 45 GB. */
    @Test
    void mpInBf16NeedsLessThan26Gib() {
        MemoryPlan plan = MemoryPlan.of(MP, BATCH, DType.BF16);
        long workspace = CudaTensorOps.workspaceBytes(90, plan.footprint(), CudaFixture.options());
        long needed = plan.bytes() + workspace + 2 * BATCH_BYTES;
        assertTrue(needed < 26L << 30, () -> plan + " and batches: " + needed / 0x1p30 + " GiB");
        assertTrue(needed > 20L << 30, () -> plan + ": too little to be true");
    }

    /** One kernel that computes all gradients sums those of the queries in workspace: (B, H, 4096, 128) of 4 bytes. */
    @Test
    void sumsOfTheQueriesGradientArePlannedWhereTheyAreUsed() {
        long sums = 4L * BATCH * 8 * 4096 * 128;
        assertTrue(workspace(90, DType.BF16) > sums);
        assertTrue(workspace(80, DType.BF16) > sums);
        assertTrue(workspace(86, DType.BF16) < sums / 2);
        assertTrue(workspace(90, DType.F32) < sums / 2);
    }

    private static long workspace(int capability, DType compute) {
        return CudaTensorOps.workspaceBytes(capability, MemoryPlan.of(MP, BATCH, compute).footprint(),
            CudaFixture.options());
    }
}
