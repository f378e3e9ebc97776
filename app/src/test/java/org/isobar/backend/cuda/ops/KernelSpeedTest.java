package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.KernelCompiler;
import org.isobar.backend.cuda.ops.AttentionKernels.Variant;
import org.isobar.backend.cuda.ops.AttentionTiling.Masking;
import org.isobar.backend.cuda.ops.AttentionTiling.Pass;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.backend.cuda.sass.Cubin;
import org.isobar.backend.cuda.sass.GpuModel;
import org.isobar.backend.cuda.sass.Operation;
import org.isobar.backend.cuda.sass.SassInstruction;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The modelled speed of the kernels stands in docs/kernels.md; {@code -Pslow -Disobar.kernels.write=true} writes it
 * anew. The model itself falls for code that is slower.
 */
@Tag("nvrtc")
class KernelSpeedTest {
    private static final Path FOUND = Path.of("target/kernels-modelled.md");
    private static final List<GpuModel> GPUS = List.of(GpuModel.H100, GpuModel.A100);
    /** For tests that are not slow: half of the compilations. */
    private static final List<GpuModel> HOPPER = List.of(GpuModel.H100);
    private static final Variant FORWARD = Variant.of(GpuModel.H100.capability(), Pass.FORWARD, DType.BF16,
        SinglePrecision.TF32, 48, Masking.NONE);
    /** What tiles of a device must gain over the common ones. */
    private static final double LEAST_GAIN = 0.02;
    /** What other tiles may gain over the chosen ones. */
    private static final double MOST_LOST = 0.03;
    /** Registers of a thread. */
    private static final int MOST_REGISTERS = 255;
    /** Cells of a line that name a kernel. */
    private static final int NAMES = 3;
    private static KernelCompiler compiler;
    private static AttentionSpeed forward;

    @BeforeAll
    static void model() {
        compiler = new KernelCompiler();
        forward = AttentionSpeed.of(FORWARD, GpuModel.H100, compiler);
    }

    /** A change of more than 3 % in any speed on the H100 fails. */
    @Test
    void theTableHasTheseKernelsOfThePresets() throws Exception {
        GeneratedSection.assertLines(SpeedTable.HEADING, SpeedTable.NEXT, line -> !line.startsWith("| `")
            || KernelTable.PRESET_HEADS.stream().anyMatch(head -> line.contains("| " + head + " |")),
            table(modelled().filter(KernelSpeedTest::isOfPreset), HOPPER), KernelSpeedTest::isNear);
    }

    @Tag("slow")
    @Test
    void theTableIsOfTheseKernels() throws Exception {
        GeneratedSection.assertCurrent(SpeedTable.HEADING, SpeedTable.NEXT, table(modelled(), GPUS), FOUND,
            KernelSpeedTest::isNear);
    }

    private static List<String> table(Stream<Variant> variants, List<GpuModel> gpus) {
        SpeedTable table = new SpeedTable();
        variants.forEach(variant -> table.add(
            gpus.stream().map(gpu -> AttentionSpeed.of(on(gpu, variant), gpu, compiler)).toList()));
        return table.markdown();
    }

    /** Heads of all sizes in bf16; with dropout, in TF32 and with atomic additions those of the presets. */
    private static Stream<Variant> modelled() {
        return AttentionKernels.variants(GpuModel.H100.capability()).stream().filter(variant -> {
            boolean common = variant.dtype() == DType.BF16 && variant.masking() == Masking.NONE;
            boolean preset = isOfPreset(variant);
            return variant.single() == SinglePrecision.TF32 && variant.dtype() != DType.F16
                && (variant.dtype() == DType.BF16 || variant.masking() == Masking.NONE)
                && (variant.pass() == Pass.BACKWARD_KEYS_ATOMIC ? common && preset : common || preset);
        });
    }

    private static boolean isOfPreset(Variant variant) {
        return KernelTable.PRESET_HEADS.contains(variant.headDim());
    }

    /** The same kernel with the tiles of another GPU. */
    private static Variant on(GpuModel gpu, Variant variant) {
        return Variant.of(gpu.capability(), variant.pass(), variant.dtype(), variant.single(), variant.headDim(),
            variant.masking());
    }

    /** With the time that blocks wait, and that memory takes; heads of the presets' sizes. */
    @ParameterizedTest
    @ValueSource(ints = {48, 128})
    void oneOrderedKernelIsFasterThanTwo(int headDim) {
        assertOrderedIsFaster(GpuModel.H100, headDim, Masking.NONE);
    }

    @Tag("slow")
    @Test
    void allOrderedKernelsAreFasterThanTwo() {
        assertAll(GPUS.stream().flatMap(gpu -> AttentionKernels.variants(gpu.capability()).stream()
            .filter(variant -> variant.dtype() == DType.BF16 && variant.pass() == Pass.BACKWARD_KEYS_ORDERED)
            .map(variant -> () -> assertOrderedIsFaster(gpu, variant.headDim(), variant.masking()))));
    }

    private static void assertOrderedIsFaster(GpuModel gpu, int headDim, Masking masking) {
        AttentionSpeed[] speeds = Stream.of(Pass.BACKWARD_KEYS_ORDERED, Pass.BACKWARD_KEYS, Pass.BACKWARD_QUERIES)
            .map(pass -> AttentionSpeed.of(Variant.of(gpu.capability(), pass, DType.BF16, SinglePrecision.TF32, headDim,
                masking), gpu, compiler)).toArray(AttentionSpeed[]::new);
        double one = SpeedTable.ofOne(speeds[0]);
        double two = SpeedTable.ofTwo(speeds[1], speeds[2]);
        assertFalse(speeds[0].spills());
        assertTrue(one > (1 + LEAST_GAIN) * two, () -> headDim + " " + masking + " on the " + gpu.name() + ": " + one
            + " TFLOP/s, with two kernels " + two);
    }

    /** Blocks of one head that all start together wait most; heads that take turns, and later rounds, wait less. */
    @Test
    void waitingDependsOnTheScheduleOfBlocks() {
        assertEquals(1, new TicketSchedule(8, 8, 4, 1, 10, 0.1).slowdown(), 1e-9);
        assertEquals((10 + 3 * 0.3) / 10, new TicketSchedule(4, 1, 4, 4, 10, 0.1).slowdown(), 1e-9);
        assertTrue(new TicketSchedule(132, 128, 4, 32, 64, 0.1).slowdown() < 1.05);
    }

    /** Tiles that only some devices have room for are there because they are faster. */
    @ParameterizedTest
    @EnumSource(value = Pass.class, names = {"BACKWARD_KEYS_ATOMIC", "BACKWARD_KEYS_ORDERED"},
        mode = EnumSource.Mode.EXCLUDE)
    void tilesOfADeviceAreFasterThanTheCommonOnes(Pass pass) {
        assertFaster(GpuModel.H100, pass);
    }

    @Tag("slow")
    @Test
    void allTilesOfADeviceAreFasterThanTheCommonOnes() {
        List.of(Pass.FORWARD, Pass.BACKWARD_KEYS, Pass.BACKWARD_QUERIES).forEach(pass ->
            assertFaster(GpuModel.A100, pass));
        assertAll(GPUS.stream().flatMap(gpu -> AttentionKernels.variants(gpu.capability()).stream()
            .filter(variant -> variant.dtype() != DType.F16 && variant.pass() != Pass.BACKWARD_KEYS_ORDERED)
            .filter(variant -> !variant.equals(common(variant)) && !isReplaced(gpu, variant))
            .map(variant -> () -> assertFaster(gpu, variant))));
    }

    /** Whether one ordered kernel has taken the place of this one of two. */
    private static boolean isReplaced(GpuModel gpu, Variant variant) {
        return (variant.pass() == Pass.BACKWARD_KEYS || variant.pass() == Pass.BACKWARD_QUERIES)
            && AttentionTiling.isOrdered(gpu.capability(), variant.dtype().bytes(), variant.headDim(),
                variant.masking());
    }

    /** Of heads of 128 channels, in bf16 without dropout. */
    private static void assertFaster(GpuModel gpu, Pass pass) {
        assertFaster(gpu, Variant.of(gpu.capability(), pass, DType.BF16, SinglePrecision.TF32, 128, Masking.NONE));
    }

    private static void assertFaster(GpuModel gpu, Variant variant) {
        double own = AttentionSpeed.of(variant, gpu, compiler).teraflops();
        double common = AttentionSpeed.of(common(variant), gpu, compiler).teraflops();
        assertTrue(own > (1 + LEAST_GAIN) * common, () -> variant + " on the " + gpu.name() + ": " + own
            + " TFLOP/s, with the common tiles " + common);
    }

    /** The same kernel with the tiles of a device that no tiles are chosen for. */
    private static Variant common(Variant variant) {
        return Variant.of(0, variant.pass(), variant.dtype(), variant.single(), variant.headDim(), variant.masking());
    }

    /** Of heads of the presets' sizes, in bf16 without dropout. */
    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"FORWARD, 48", "FORWARD, 128", "BACKWARD_QUERIES, 48", "BACKWARD_QUERIES, 128", "BACKWARD_KEYS, 48",
        "BACKWARD_KEYS, 128"})
    void noOtherTilesAreMuchFaster(Pass pass, int headDim) {
        GPUS.forEach(gpu -> {
            Variant chosen = Variant.of(gpu.capability(), pass, DType.BF16, SinglePrecision.TF32, headDim,
                Masking.NONE);
            double own = AttentionSpeed.of(chosen, gpu, compiler).teraflops();
            candidates(chosen, gpu).forEach(other -> {
                AttentionSpeed speed = AttentionSpeed.of(other, gpu, compiler);
                assertTrue(speed.spills() || speed.teraflops() < (1 + MOST_LOST) * own, () -> other.tiling()
                    + " on the " + gpu.name() + ": " + speed.teraflops() + " TFLOP/s instead of " + own);
            });
        });
    }

    /** The kernel with all tiles that fit into shared memory and, by their sums and operands alone, into registers. */
    private static List<Variant> candidates(Variant variant, GpuModel gpu) {
        List<Variant> candidates = new ArrayList<>();
        int mostKept = variant.pass() == Pass.FORWARD ? 1 : 2;
        for (int shape = 0; shape < 24; shape++) {
            AttentionTiling tiling = new AttentionTiling(1 + shape % 2, 4 << shape / 2 % 2, 32 << shape / 4 % 3,
                shape / 12 * mostKept, 2 - shape / 2 % 2);
            Variant other = new Variant(variant.pass(), variant.dtype(), variant.single(), variant.headDim(),
                variant.masking(), tiling);
            int sums = variant.pass() == Pass.BACKWARD_KEYS ? 2 * variant.headDim() : variant.headDim();
            int scores = variant.pass() == Pass.FORWARD ? tiling.columns() : 0;
            int registers = tiling.rowTiles() * (sums + scores + tiling.kept() * variant.headDim() / 2) / 2;
            if (registers < MOST_REGISTERS
                && other.sharedBytes() <= SourceKernels.sharedBytes(gpu.capability())) {
                candidates.add(other);
            }
        }
        return candidates;
    }

    /** Whether two lines are of one kernel, and their numbers with a point, which are speeds, differ by 3 % or less. */
    private static boolean isNear(String committed, String found) {
        String[] before = committed.split(" [|] ");
        String[] after = found.split(" [|] ");
        if (before.length != after.length || before.length <= NAMES) {
            return committed.equals(found);
        }
        return Arrays.equals(before, 0, NAMES, after, 0, NAMES) && IntStream.range(NAMES, before.length)
            .allMatch(i -> !after[i].contains(".") || Math.abs(speed(after[i]) / speed(before[i]) - 1) <= 0.03);
    }

    private static double speed(String cell) {
        return Double.parseDouble(cell.replace("|", ""));
    }

    @Test
    void aLossOfFourPercentIsSeen() {
        String line = "| `attention_forward` | `bf16_t` | 48 |  | 2 | 576 | 54 % | 54 % | 48 % | 300.0 | 190.1 |";
        assertTrue(isNear(line, line.replace("300.0", "295.0").replace("576", "580")));
        assertFalse(isNear(line, line.replace("300.0", "288.0")));
        assertFalse(isNear(line, line.replace("48 | ", "64 | ")));
    }

    @Test
    void longerStallsAreSlower() {
        assertSlower(forward.path().stream().map(one -> one.operation() != Operation.MATRIX ? one
            : new SassInstruction(one.address(), one.operation(), one.width(), one.predicated(), one.target(),
                one.count(), one.stall() + 4, one.writeBarrier(), one.readBarrier(), one.waits())).toList(), 2);
    }

    @Test
    void oneMoreFunctionPerScoreIsSlower() {
        assertSlower(forward.path().stream().flatMap(one ->
            Collections.nCopies(one.operation() == Operation.FUNCTION ? 2 : 1, one).stream()).toList(), 2);
    }

    @Test
    void spillsAreSlower() {
        List<SassInstruction> path = new ArrayList<>();
        forward.path().forEach(one -> {
            path.add(one);
            if (one.operation() == Operation.MATRIX && path.size() % 2 == 0) {
                path.add(new SassInstruction(0, Operation.STORE_LOCAL, 4, false, -1, 0, 1, SassInstruction.NONE, 4, 0));
                path.add(new SassInstruction(0, Operation.LOAD_LOCAL, 4, false, -1, 0, 1, 5, SassInstruction.NONE, 0));
                path.add(new SassInstruction(0, Operation.FLOAT, 0, false, -1, 0, 1, SassInstruction.NONE,
                    SassInstruction.NONE, 1 << 5));
            }
        });
        assertSlower(path, 2);
    }

    @Test
    void halfOfTheBlocksIsSlower() {
        assertSlower(forward.path(), 1);
    }

    private static void assertSlower(List<SassInstruction> path, int blocks) {
        double changed = AttentionSpeed.of(FORWARD, GpuModel.H100, path, path, blocks).teraflops();
        assertTrue(changed < 0.97 * forward.teraflops(), changed + " instead of " + forward.teraflops());
    }

    @Test
    void whatIsNotKnownIsAnError() {
        assertThrows(IllegalArgumentException.class, () -> Cubin.kernels(new byte[1024], 90));
    }
}
