package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.backend.cuda.kernels.KernelCompiler;
import org.isobar.backend.cuda.sass.GpuModel;
import org.isobar.backend.cuda.sass.MachineCode;
import org.isobar.backend.cuda.sass.MemoryPath;
import org.isobar.backend.cuda.sass.MemoryPath.Accesses;
import org.isobar.backend.cuda.sass.SassInstruction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The modelled speed of memory-bound kernels stands in docs/kernels.md; {@code -Pslow
 * -Disobar.kernels.write=true} writes it anew. The model itself falls for code that is slower.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("nvrtc")
class MemorySpeedTest {
    private static final Path FOUND = Path.of("target/kernels-memory.md");
    /** Cells from the end of a split line: the two speeds. */
    private static final int SPEEDS = 2;
    /** Cells of a line of what is executed, split: its name, its type, and the ratio of sectors. */
    private static final int RATIO = 9;

    /** A loss or gain of more than 3 % in any speed on the H100 fails. */
    @Test
    void theTableHasTheSpeedsOfHopper() throws Exception {
        GeneratedSection.assertLines(MemorySpeedTable.HEADING, SpeedTable.STEP, _ -> true,
            table(List.of(GpuModel.H100)), MemorySpeedTest::isNear);
    }

    /** With the speeds on the A100. */
    @Tag("slow")
    @Test
    void theTableIsOfTheseKernels() throws Exception {
        GeneratedSection.assertCurrent(MemorySpeedTable.HEADING, SpeedTable.STEP,
            table(List.of(GpuModel.H100, GpuModel.A100)), FOUND, MemorySpeedTest::isNear);
    }

    private static List<String> table(List<GpuModel> gpus) throws IOException {
        List<String> committed = GeneratedSection.page();
        KernelCompiler compiler = new KernelCompiler();
        MemorySpeedTable table = new MemorySpeedTable();
        MemoryKernel.all().forEach(kernel -> table.add(gpus.stream()
            .map(gpu -> MemorySpeed.of(kernel, gpu, sectors(committed, kernel), compiler)).toList()));
        return table.markdown();
    }

    /** The ratio that the PTX machine has counted, of the line of the same name but perhaps another width of rows. */
    private static double sectors(List<String> page, MemoryKernel kernel) {
        String name = "| " + kernel.name().replace("WIDTH=1024", "WIDTH=384") + " |";
        return page.stream().dropWhile(line -> !line.equals(PtxCountTable.HEADING))
            .filter(line -> line.replace("|  |", "| |").startsWith(name.replace("|  |", "| |")))
            .mapToDouble(line -> Double.parseDouble(line.split("[|]")[RATIO].strip())).findFirst().orElse(1);
    }

    /** Whether two lines are of one kernel and the speeds of the found one differ by 3 % or less. */
    private static boolean isNear(String committed, String found) {
        String[] before = committed.split("[|]");
        String[] now = found.split("[|]");
        boolean speeds = found.startsWith("| `") && before.length == now.length
            && Arrays.equals(before, 0, 3, now, 0, 3);
        return committed.equals(found) || speeds && IntStream.range(now.length - SPEEDS, now.length)
            .allMatch(i -> now[i].isBlank()
                || Math.abs(Double.parseDouble(now[i]) / Double.parseDouble(before[i]) - 1) <= 0.03);
    }

    @Test
    void splitStoresLongerPathsAndFewerBlocksAreSlower() {
        KernelCompiler compiler = new KernelCompiler();
        MemoryKernel kernel = MemoryKernel.all().stream().filter(each -> each.variant().function().equals("gelu"))
            .findFirst().orElseThrow();
        MemorySpeed now = MemorySpeed.of(kernel, GpuModel.H100, 1, compiler);
        assertEquals(MemorySpeed.Limit.MEMORY, now.limit());
        assertEquals(MemorySpeed.Limit.SECTORS, MemorySpeed.of(kernel, GpuModel.H100, now.path(), 8, 4).limit());
        List<SassInstruction> twice = now.path().stream().flatMap(one -> Collections.nCopies(2, one).stream()).toList();
        assertTrue(MemorySpeed.of(kernel, GpuModel.H100, twice, 8, 1).gigabytes() < 0.97 * now.gigabytes());
        assertTrue(MemorySpeed.of(kernel, GpuModel.H100, now.path(), 1, 1).gigabytes() < 0.97 * now.gigabytes());
        MachineCode nothing = new MachineCode("nothing", 90, 32, 0, now.path());
        assertThrows(IllegalArgumentException.class, () -> MemoryPath.whole(nothing, new Accesses(1, 64, 64)));
    }
}
