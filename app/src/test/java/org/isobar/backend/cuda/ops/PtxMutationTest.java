package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.KernelSource;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.backend.cuda.ops.MutatedContract.Mutation;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Small mistakes in the inline assembly, which the C++ version of {@code ptx.cuh} replaces and so cannot show. The case
 * of the contract that is named must fail on the PTX machine, or the machine complain.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("ptx")
class PtxMutationTest {
    private static final String FILE = "ptx.cuh";
    private static final String HEADS = " of B=1 Tq=131 Tk=131 H=2 D=48";
    private static final String BF16 = "attention BF16" + HEADS;
    private static final String F16 = "attention F16" + HEADS;
    private static final String F32 = "attention F32" + HEADS;

    @TempDir
    private static Path logs;

    /** A mistake and the name of the case that finds it. */
    private record Planted(String what, Mutation mutation) {
        Planted(String what, String right, String wrong, String finder) {
            this(what, PtxMutationTest.mutation(right, wrong, finder));
        }
    }

    private static List<Planted> planted() {
        return List.of(
            new Planted("operands of a conversion exchanged",
                "asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(y) : \"f\"(high), \"f\"(low));",
                "asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(y) : \"f\"(low), \"f\"(high));", BF16),
            new Planted("a sum that is no input", "\"+f\"(d[1])", "\"=f\"(d[1])", BF16),
            new Planted("mma of another type", "f32.bf16.bf16.f32", "f32.f16.f16.f32", BF16),
            new Planted("mma of another shape", "m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                + "{%8,%9}", "m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}", BF16),
            new Planted("halves of the right operand exchanged",
                "f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}",
                "f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%9,%8}", F16),
            new Planted("quarters of the left operand exchanged",
                "f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}", "f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%6,%5,%7}",
                F32),
            new Planted("results in another order than addends",
                "f32.bf16.bf16.f32 {%0,%1,%2,%3}", "f32.bf16.bf16.f32 {%1,%0,%2,%3}", BF16),
            new Planted(".trans forgotten", "m8n8.x4.trans.shared", "m8n8.x4.shared", BF16),
            new Planted(".trans where none belongs", "m8n8.x4.shared", "m8n8.x4.trans.shared", BF16),
            new Planted("matrices in another order", "m8n8.x4.shared.b16 {%0,%1,%2,%3}",
                "m8n8.x4.shared.b16 {%0,%2,%1,%3}", BF16),
            new Planted("a wait for one group too few", "\"n\"(N) : \"memory\"", "\"n\"(N + 1) : \"memory\"", BF16),
            new Planted("a group that is not closed", "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");",
                "asm volatile(\"\" ::: \"memory\");", BF16),
            new Planted("a copy under the wrong predicate", "valid ? 16 : 0", "valid ? 0 : 16", BF16),
            new Planted("another function", "ex2.approx.ftz.f32", "lg2.approx.ftz.f32", BF16));
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // they share a process
    Stream<DynamicTest> aMistakeInTheAssemblyIsFound() throws Exception {
        List<Mutation> mutations = planted().stream().map(Planted::mutation).toList();
        String text = KernelSource.load("attention_forward.cu").headers().get(FILE);
        mutations.forEach(one -> assertTrue(text.contains(one.right()), () -> FILE + " has no " + one.right()));
        List<String> findings = MutatedContract.findings(mutations, logs.resolve("mistakes.log"));
        return IntStream.range(0, mutations.size()).mapToObj(i -> DynamicTest.dynamicTest(planted().get(i).what(),
            () -> assertIsFinding(findings.get(i))));
    }

    private static void assertIsFinding(String finding) {
        assertNotEquals(MutatedContract.NOT_FOUND, finding);
        assertFalse(finding.contains("not known"), finding);
    }

    @Test
    void withoutAMistakeTheCasesHold() throws Exception {
        List<Mutation> changes = Stream.of(F32, F16, BF16)
            .map(finder -> mutation("#pragma once", "#pragma once  // changed", finder)).toList();
        assertEquals(Collections.nCopies(changes.size(), MutatedContract.NOT_FOUND),
            MutatedContract.findings(changes, logs.resolve("changes.log")));
    }

    private static Mutation mutation(String right, String wrong, String finder) {
        return new Mutation(FILE, right, wrong, finder, Fusion.SEPARATE, SinglePrecision.TF32);
    }
}
