package org.isobar.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Recompute;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.Quantity;
import org.isobar.train.memory.MemoryPlan;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which layouts are planned, and where their ranks lie. */
class PlannerTest {
    private static PlanRequest request(Machine machine, int ranks, String... settings) {
        ConfigRequest preset = new ConfigRequest(Path.of("../config/ViT.yaml"), "tiny", Map.of());
        for (String setting : settings) {
            preset = preset.set(setting);
        }
        return new PlanRequest(ConfigLoader.load(preset), machine, Program.ISOBAR, ranks, PlanRequest.Fixed.NOTHING);
    }

    private static Machine with(Machine machine, String key, double value) {
        Map<String, Quantity> numbers = new TreeMap<>(machine.numbers());
        numbers.put(key, new Quantity(value, Quantity.Source.GUESSED, "2026-11", "a test"));
        return new Machine(machine.name(), machine.description(), machine.device(), machine.kind(), numbers,
            machine.attention(), machine.profiles(), machine.collectives(), machine.operations(), machine.shared());
    }

    @ParameterizedTest
    @CsvSource({
        "perlmutter-a100-40, 1, 1, 1",
        "perlmutter-a100-40, 4, 1, 4",
        "perlmutter-a100-40, 6, 2, 3",
        "perlmutter-a100-40, 7, 7, 1",
        "perlmutter-a100-40, 16, 4, 4",
        "h100-sxm, 12, 2, 6",
        "h100-sxm, 65536, 8192, 8",
        "cpu-2-cores, 4, 1, 4",
        "cpu-2-cores, 11, 1, 11"})
    void ranksFillTheFewestNodesEvenly(String machine, int ranks, int nodes, int perNode) {
        PlanRequest request = request(MachineFile.load(machine), ranks);
        assertEquals(nodes, request.nodes());
        assertEquals(perNode, request.ranksPerNode());
    }

    @Test
    void aPlanIsOfTheNodesThatItsCommandAsksFor() {
        Machine machine = MachineFile.load("perlmutter-a100-40");
        assertEquals(Planner.plan(request(with(machine, MachineKeys.RANKS_PER_NODE, 3), 6, "global_batch_size=6"))
            .layouts(), Planner.plan(request(machine, 6, "global_batch_size=6")).layouts());
    }

    /** The copy is in host memory, which is a CPU's own. */
    @ParameterizedTest
    @CsvSource({"cpu-2-cores, 1, 1", "cpu-2-cores, 4, 1", "perlmutter-a100-40, 1, 0"})
    void theCopyOfACheckpointIsPlannedOnACpu(String name, int ranks, int copies) {
        Machine machine = MachineFile.load(name);
        PlanLayout layout = new PlanLayout(1, 1, ranks, "dp", 1, 1, AmpMode.NONE, Recompute.NONE, false);
        PlanRequest saves = request(machine, ranks, "global_batch_size=4");
        long copy = MemoryPlan.of(saves.model(), 1, ProcessGrid.of("dp", Map.of(Axis.DP, ranks)), 0).savedBytes();
        assertTrue(copy > 0);
        assertEquals(copies * copy, Planner.predict(saves, layout).memoryBytes()
            - Planner.predict(request(machine, ranks, "global_batch_size=4", "keep=0"), layout).memoryBytes());
    }
}
