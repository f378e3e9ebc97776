package org.isobar.backend.cuda.cudnn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.CudaFixture;
import org.isobar.backend.cuda.SimulatedCudnn;
import org.isobar.device.AttentionEngine;
import org.isobar.device.Footprint;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;
import org.isobar.verify.contract.ContractCase;
import org.isobar.verify.contract.ContractViolation;
import org.isobar.verify.contract.TensorOpsContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What cuDNN computes, and what it says that it cannot; SecondAttentionCheckTest has the contract. */
@Tag("simulated")
class CudnnAttentionTest {
    private static final List<DType> HALVES = List.of(DType.F16, DType.BF16);

    private static CudaDevice device;
    private static AttentionEngine engine;

    @BeforeAll
    static void open() {
        device = new CudaDevice(0, CudaFixture.options(), SimulatedCudnn.environment(), line -> { });
        engine = device.secondAttention().orElseThrow();
        engine.enable(true);
    }

    @AfterAll
    static void close() {
        device.close();
    }

    private static Stream<ContractCase> attention() {
        HALVES.forEach(half -> engine.prepare(TensorOpsContract.attentionShapes(), half));
        return TensorOpsContract.cases(device).stream().filter(one -> one.operation().startsWith("attention"))
            .filter(one -> HALVES.contains(one.types().compute()));
    }

    /** Which shows that the contract runs on cuDNN where it can compute a case. */
    @Test
    void theContractFindsAWrongGradient() {
        List<ContractCase> cases = attention().filter(one -> one.operation().equals("attentionBackward"))
            .filter(one -> one.variant().startsWith("of ") && one.variant().matches(".*D=(8|48|80|128)")).toList();
        assertEquals(8, cases.size());
        SimulatedCudnn.wrong("gradient", () ->
            cases.forEach(one -> assertThrows(ContractViolation.class, () -> one.run(device), one.name())));
    }

    /** The plans are made before the memory is planned, so that the plan has their workspace. */
    @Test
    void theWorkspaceOfPreparedShapesIsPartOfThePlan() {
        try (CudaDevice large = new CudaDevice(0, CudaFixture.options(), SimulatedCudnn.environment(), line -> { })) {
            Footprint nothing = new Footprint(1, 1, 1, 1, Set.of(), Set.of(), Set.of(), Set.of());
            long before = large.workspaceBytes(nothing);
            large.secondAttention().orElseThrow().prepare(Set.of(new AttentionShape(8, 4096, 4096, 16, 64)), DType.F16);
            long rows = 8 * 16 * 4096;
            long needed = 2 * rows * (8 + 64 * Float.BYTES); // of the simulated library
            assertTrue(needed > before, () -> needed + ", and other operations need " + before);
            assertEquals(needed, large.workspaceBytes(nothing));
        }
    }

    @Test
    void itSaysWhatItCannotCompute() {
        assertTrue(engine.prepare(Set.of(new AttentionShape(1, 4, 4, 1, 12)), DType.BF16).orElseThrow()
            .contains("these have 12"));
        assertTrue(engine.prepare(Set.of(new AttentionShape(1, 4, 4, 1, 136)), DType.F16).orElseThrow()
            .contains("up to 128"));
        assertTrue(engine.prepare(Set.of(new AttentionShape(1, 4, 4, 1, 16)), DType.F32).orElseThrow()
            .contains("--amp_mode bf16 or fp16"));
    }

    @Test
    void anOldLibraryIsNotUsed() {
        SimulatedCudnn.version(91002, () -> {
            try (CudaDevice old = new CudaDevice(0, CudaFixture.options(), SimulatedCudnn.environment(), line -> { })) {
                assertEquals(Optional.of("cuDNN 9.10.2 is older than 9.19.0"),
                    old.secondAttention().orElseThrow().prepare(Set.of(), DType.BF16));
            }
        });
    }

    @Test
    void withoutTheLibraryItSaysSo() {
        try (CudaDevice bare = CudaFixture.device()) {
            AttentionEngine absent = bare.secondAttention().orElseThrow();
            assertTrue(absent.prepare(Set.of(), DType.BF16).orElseThrow().startsWith("libcudnn.so.9 is missing"));
            assertTrue(!absent.isInstalled() && absent.name().equals("cuDNN"));
        }
        assertEquals("cuDNN 9.19.0", engine.name());
    }
}
