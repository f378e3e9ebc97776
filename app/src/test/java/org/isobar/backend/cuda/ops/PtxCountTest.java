package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaReplica;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.train.step.StepLaunch;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** What the kernels execute stands in docs/kernels.md; {@code -Disobar.kernels.write=true} writes it anew. */
@Isolated("The counts are those of the process.")
@Tag("ptx")
class PtxCountTest {
    private static final Path DOCUMENT = Path.of("../docs/kernels.md");
    private static final Path FOUND = Path.of("target/kernels-executed.md");
    private static final int TOKENS = 256;
    private static final double RATE = 1e-3;
    private static final String TILED = "attention_";
    private static final VitConfig MODEL = new VitConfig(32, 64, 4, 8, 8, 384, 1, 8, 1536, 0);

    private static List<PtxCounts> attention;

    @BeforeAll
    static void countAttention() throws Exception {
        KernelPreparation.compileContract(unit -> unit.file().startsWith(TILED) && !unit.defines().contains("FULL"));
        attention = attention();
    }

    @Test
    void theTableIsOfTheseKernels() throws Exception {
        PtxCountTable table = new PtxCountTable();
        table.begin("Attention of one head of " + TOKENS + " tokens, with TF32 for `float`:");
        attention.forEach(table::add);
        table.begin("The second step of a model of 384 channels, 8 heads and one block, on 2 images of 128 tokens:");
        Stream.of(DType.F32, DType.BF16).flatMap(compute -> step(compute).stream())
            .filter(one -> !one.kernel().startsWith(TILED) || one.kernel().contains("statistics"))
            .forEach(table::add);
        List<String> committed = Files.readAllLines(DOCUMENT, StandardCharsets.UTF_8);
        List<String> before = committed.stream().takeWhile(line -> !line.equals(PtxCountTable.HEADING)).toList();
        Files.write(Boolean.getBoolean("isobar.kernels.write") ? DOCUMENT : FOUND,
            Stream.concat(before.stream(), table.lines().stream()).toList(), StandardCharsets.UTF_8);
        List<String> now = Files.readAllLines(DOCUMENT, StandardCharsets.UTF_8);
        assertEquals(String.join("\n", table.lines()), String.join("\n", now.subList(before.size(), now.size())),
            "docs/kernels.md is not of these kernels: see its last section");
    }

    @Test
    void tilesAreReadAndWrittenWithoutWaste() {
        assertEquals(List.of(), attention.stream().filter(one -> one.overLeast("sectors", "leastSectors") > 1)
            .map(PtxCounts::kernel).toList(), "global memory");
        assertEquals(List.of(), attention.stream().filter(one -> !one.kernel().contains("TYPE=float")
            && one.overLeast("wavefronts", "leastWavefronts") > 1).map(PtxCounts::kernel).toList(), "bank conflicts");
    }

    private static List<PtxCounts> attention() {
        List<PtxCounts> all = new ArrayList<>();
        for (DType dtype : TypedKernel.TYPES) {
            try (AttentionFixture fixture =
                new AttentionFixture(dtype, SinglePrecision.TF32, QueryGradient.DETERMINISTIC)) {
                for (int headDim : AttentionKernels.HEAD_DIMS) {
                    AttentionShape shape = new AttentionShape(1, TOKENS, TOKENS, 1, headDim);
                    AttentionFixture.Inputs in = fixture.inputs(shape, Dropout.NONE, 1, 1);
                    PtxCounts.during(() -> fixture.run(in)).stream()
                        .filter(one -> one.kernel().contains("-DHEAD_DIM")).forEach(all::add);
                }
            }
        }
        return all;
    }

    private static List<PtxCounts> step(DType compute) {
        try (CudaReplica model = new CudaReplica(MODEL, compute, GradScaler.NONE, StepLaunch.EAGER)) {
            model.issue(RATE).get();
            return PtxCounts.during(() -> model.issue(RATE).get());
        }
    }
}
