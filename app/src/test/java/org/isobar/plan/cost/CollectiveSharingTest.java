package org.isobar.plan.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.isobar.plan.machine.MachineFile;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How several groups of a node share its cores. */
class CollectiveSharingTest {
    @ParameterizedTest
    @CsvSource({
        "cpu-2-cores, 2, 2, 1",
        "cpu-2-cores, 2, 4, 2",
        "cpu-2-cores, 2, 8, 4",
        "cpu-2-cores, 4, 4, 1",
        "cpu-2-cores, 4, 8, 2",
        "perlmutter-a100-40, 2, 4, 1"})
    void groupsThatShareCoresTakeTurns(String machine, int members, int ranks, double factor) {
        assertEquals(factor, new CollectiveCosts(MachineFile.load(machine)).sharing(new GroupSpan(1, members), ranks));
    }
}
