package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxReset;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;

import org.isobar.backend.cuda.BareDevice;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.kernels.KernelSource;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.backend.cuda.ops.MutatedContract.Mutation;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The sums of attention's query gradients have one order, whatever the order of blocks. The PTX machine starts blocks
 * in a random order, runs several at once, and shows additions to other blocks as late as fences allow.
 */
@Isolated("It resets the context of the process.")
@Tag("ptx")
class OrderedSumsTest {
    private static final String TURNS = "attention_turns.cuh";
    private static final String TICKET = "int ticket = atomicAdd(turns, 1);";
    private static final int RUNS = 4;
    /** Of keys and values: partial sums that are larger than their sum, so that rounding errors are seen. */
    private static final float OFFSET = 64;

    /** Heads of 128 channels have a kernel of their own. */
    @ParameterizedTest
    @ValueSource(ints = {96, 128})
    void bitsDoNotDependOnTheOrderOfBlocks(int headDim) {
        List<float[]> gradients = run(QueryGradient.DETERMINISTIC, UnaryOperator.identity(), 3, headDim);
        gradients.forEach(other -> assertArrayEquals(gradients.getFirst(), other));
    }

    @Test
    void atomicAdditionsInNoOrderHaveOtherBits() {
        assertFalse(allEqual(run(QueryGradient.ATOMIC, UnaryOperator.identity(), 3, 96)));
    }

    /** Without it the next block's additions may come first. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "96 | ptx.cuh | asm volatile(\"fence.acq_rel.gpu;\" ::: \"memory\"); | ;",
        "96 | attention_turns.cuh | while (load_acquire(turn) < block) | while (load_acquire(turn) < 0)",
        "96 | attention_backward_keys.cu | first / COLUMNS - 1); | first / COLUMNS);",
        "96 | attention_backward_keys.cu | await_turn(turns + at.turn + first / COLUMNS, | await_turn(turns + at.turn,",
        "128 | ptx.cuh | asm volatile(\"fence.acq_rel.gpu;\" ::: \"memory\"); | ;",
        "128 | attention_backward_shared.cu | ticket->turn + first / COLUMNS, | ticket->turn,"})
    void anythingLessIsFound(int headDim, String file, String right, String wrong) {
        Mutation mutation = new Mutation(file, right, wrong, "attentionBackward");
        assertTrue(text(file).contains(right));
        boolean equal;
        try {
            equal = allEqual(run(QueryGradient.DETERMINISTIC, mutation::apply, 4, headDim));
        } catch (CudaException found) {
            assertTrue(found.getMessage().contains("wait for ever"), found.getMessage());
            equal = false;
        } finally {
            cuDevicePrimaryCtxReset(0);
        }
        assertFalse(equal, "not found");
    }

    /** Blocks that waited for blocks of lower number, which need not have started, could wait for ever. */
    @Test
    void withoutTicketsBlocksWaitForEver() {
        Mutation mutation = new Mutation(TURNS, TICKET, "int ticket = gridDim.x - 1 - blockIdx.x + gridDim.x "
            + "* blockIdx.y; if (ticket < 0) atomicAdd(turns, 1);", "attentionBackward");
        assertTrue(text(TURNS).contains(TICKET));
        try {
            List<float[]> unused = run(QueryGradient.DETERMINISTIC, mutation::apply, 12, 96);
            assertTrue(unused.isEmpty(), "not found");
        } catch (CudaException found) {
            assertTrue(found.getMessage().contains("wait for ever"), found.getMessage());
        } finally {
            cuDevicePrimaryCtxReset(0);
        }
    }

    private static String text(String file) {
        return file.endsWith(".cu") ? KernelSource.load(file).text()
            : KernelSource.load("attention_backward_keys.cu").headers().get(file);
    }

    /** The queries' gradient of several runs, with so many blocks of 128 keys. */
    private static List<float[]> run(QueryGradient gradient, UnaryOperator<KernelSource> change, int blocks,
        int headDim) {
        CudaOptions options = new CudaOptions(Fusion.SEPARATE, SinglePrecision.TF32, gradient);
        try (AttentionFixture fixture = AttentionFixture.on(new BareDevice(options, change), DType.F16)) {
            AttentionFixture.Inputs in =
                fixture.inputs(new AttentionShape(1, 208, 128 * blocks - 5, 1, headDim), Dropout.NONE, 1, 1);
            float[] kv = in.kv().clone();
            for (int i = 0; i < kv.length; i++) {
                kv[i] += OFFSET;
            }
            AttentionFixture.Inputs inputs =
                new AttentionFixture.Inputs(in.shape(), in.dropout(), in.q(), kv, in.dOut());
            List<float[]> gradients = new ArrayList<>();
            for (int i = 0; i < RUNS; i++) {
                gradients.add(fixture.run(inputs).dq());
            }
            return gradients;
        }
    }

    private static boolean allEqual(List<float[]> arrays) {
        return arrays.stream().allMatch(other -> Arrays.equals(arrays.getFirst(), other));
    }
}
