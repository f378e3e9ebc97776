package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;

/** Rank and address from the variables of a launcher or of Slurm. */
class RankEnvironmentTest {
    private static final Map<String, String> TASK = Map.of("SLURM_JOB_ID", "17", "SLURM_STEP_ID", "0",
        "SLURM_PROCID", "5", "SLURM_NTASKS", "8", "SLURM_STEP_NUM_TASKS", "8", "SLURM_LOCALID", "1",
        "SLURM_JOB_NODELIST", "nid[004-005]", "SLURM_STEP_NODELIST", "nid[004-005]",
        "SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1");

    @Test
    void aSingleProcessNeedsNoVariables() {
        assertEquals(new RankEnvironment(0, 1, 0, "localhost", 29500), RankEnvironment.of(Map.of()));
        assertEquals(1, RankEnvironment.of(Map.of("SLURM_JOB_ID", "17", "SLURM_PROCID", "0")).worldSize());
    }

    @Test
    void theLaunchersVariablesComeFirst() {
        assertEquals(new RankEnvironment(3, 4, 1, "node7", 1234), RankEnvironment.of(Map.of("RANK", "3", "WORLD_SIZE",
            "4", "LOCAL_RANK", "1", "MASTER_ADDR", "node7", "MASTER_PORT", "1234")));
        assertEquals(new RankEnvironment(3, 8, 1, "node7", 29500),
            RankEnvironment.of(with(TASK, Map.of("RANK", "3", "MASTER_ADDR", "node7", "MASTER_PORT", ""))));
    }

    @Test
    void slurmsVariablesFillIn() {
        assertEquals(new RankEnvironment(5, 8, 1, "nid004", 29500), RankEnvironment.of(TASK));
    }

    @Test
    void severalNodesAreSeen() {
        assertFalse(RankEnvironment.of(TASK).severalNodes(), "unknown");
        assertTrue(RankEnvironment.of(with(TASK, Map.of("SLURM_NNODES", "2"))).severalNodes());
        assertFalse(RankEnvironment.of(with(TASK, Map.of("SLURM_NNODES", "2", "SLURM_STEP_NUM_NODES", "1")))
            .severalNodes());
        assertTrue(RankEnvironment.of(with(TASK, Map.of("LOCAL_WORLD_SIZE", "4"))).severalNodes());
        assertFalse(RankEnvironment.of(with(TASK, Map.of("LOCAL_WORLD_SIZE", "8", "SLURM_NNODES", "2")))
            .severalNodes(), "isobar launch on one node of several");
        assertFalse(RankEnvironment.of(Map.of("SLURM_NNODES", "2")).severalNodes(), "one process");
    }

    @Test
    void theShellOfSallocIsNoTask() {
        assertTrue(RankEnvironment.isSlurmTask(TASK));
        assertFalse(RankEnvironment.isSlurmTask(Map.of("SLURM_JOB_ID", "17")), "batch script");
        assertFalse(RankEnvironment.isSlurmTask(with(TASK, Map.of("SLURM_STEP_ID", "4294967290"))), "salloc");
    }

    @Test
    void theFirstNodeOfAList() {
        assertEquals("nid001", RankEnvironment.firstNode("nid[001-004,007],login1"));
        assertEquals("nid007", RankEnvironment.firstNode("nid[007,001-004]"));
        assertEquals("a", RankEnvironment.firstNode("a,b[1-2]"));
        assertEquals("localhost", RankEnvironment.firstNode("localhost"));
        assertEquals("rack1-n03.example", RankEnvironment.firstNode("rack1-n[03-09].example"));
    }

    @Test
    void theShellOfAJobIsRefused() {
        Map<String, String> batch = without(TASK, "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST");
        refused(batch, "Slurm job 17", "8 tasks", "srun");
        refused(with(batch, Map.of("RANK", "0", "WORLD_SIZE", "8", "MASTER_ADDR", "a")), "srun", "unset SLURM_PROCID");
        refused(with(TASK, Map.of("SLURM_STEP_NUM_TASKS", "1", "SLURM_STEP_ID", "4294967290")), "srun");
        refused(without(batch, "SLURM_PROCID", "SLURM_LOCALID"), "Slurm job 17", "srun");
        // `isobar launch` in an allocation removes SLURM_PROCID from the environment of its ranks.
        assertEquals(2, RankEnvironment.of(with(without(batch, "SLURM_PROCID"),
            Map.of("RANK", "2", "WORLD_SIZE", "4", "MASTER_ADDR", "127.0.0.1"))).rank());
    }

    @Test
    void invalidVariablesAreRefused() {
        refused(Map.of("WORLD_SIZE", "4"), "RANK is not set");
        refused(Map.of("WORLD_SIZE", "4", "RANK", "1"), "MASTER_ADDR is not set");
        refused(Map.of("WORLD_SIZE", "four"), "WORLD_SIZE=four");
        refused(Map.of("WORLD_SIZE", "4", "RANK", "4", "MASTER_ADDR", "a"), "rank 4 of 4");
        refused(Map.of("WORLD_SIZE", "4", "RANK", "1", "MASTER_ADDR", "a", "MASTER_PORT", "70000"), "70000");
        refused(Map.of("WORLD_SIZE", "0"), "WORLD_SIZE=0 must be at least 1");
        refused(Map.of("WORLD_SIZE", "0", "RANK", "0"), "WORLD_SIZE=0 must be at least 1");
    }

    private static void refused(Map<String, String> environment, String... words) {
        String message = assertThrows(UserException.class, () -> RankEnvironment.of(environment)).getMessage();
        for (String word : words) {
            assertTrue(message.contains(word), message);
        }
    }

    private static Map<String, String> with(Map<String, String> base, Map<String, String> more) {
        Map<String, String> all = new HashMap<>(base);
        all.putAll(more);
        return all;
    }

    private static Map<String, String> without(Map<String, String> base, String... names) {
        Map<String, String> all = new HashMap<>(base);
        for (String name : names) {
            all.remove(name);
        }
        return all;
    }
}
