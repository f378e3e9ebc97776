package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What {@code isobar groups} prints. */
class GroupsCommandTest {
    @Test
    void printsTheGroupsOfTheFirstExample() {
        String printed = run("--world_size", "16", "--tensor_parallel", "2", "--pipeline_parallel", "4",
            "--parallel_order", "tp-dp-pp");
        String expected = """
             8 data_parallel groups:
             [g0, g2], [g1, g3], [g4, g6], [g5, g7], [g8, g10], [g9, g11], [g12, g14], [g13, g15]
             8 tensor model-parallel groups:
             [g0, g1], [g2, g3], [g4, g5], [g6, g7], [g8, g9], [g10, g11], [g12, g13], [g14, g15]
             4 pipeline model-parallel groups:
             [g0, g4, g8, g12], [g1, g5, g9, g13], [g2, g6, g10, g14], [g3, g7, g11, g15]
             2 tensor- and pipeline-parallel (tp-pp) groups:
             [g0, g1, g4, g5, g8, g9, g12, g13], [g2, g3, g6, g7, g10, g11, g14, g15]
            Total: 2 full models being partitioned into 16 GPUs
            model 0: is partitioned into gpus: 0,1,4,5,8,9,12,13
            model 1: is partitioned into gpus: 2,3,6,7,10,11,14,15
            """;
        assertTrue(printed.endsWith(expected), printed);
    }

    @Test
    void printsTheGroupsOfTheSecondExample() {
        String printed = run("--world_size", "16", "--tensor_parallel", "4", "--pipeline_parallel", "2",
            "--parallel_order", "tp-dp-pp");
        String expected = """
             8 data_parallel groups:
             [g0, g4], [g1, g5], [g2, g6], [g3, g7], [g8, g12], [g9, g13], [g10, g14], [g11, g15]
             4 tensor model-parallel groups:
             [g0, g1, g2, g3], [g4, g5, g6, g7], [g8, g9, g10, g11], [g12, g13, g14, g15]
             8 pipeline model-parallel groups:
             [g0, g8], [g1, g9], [g2, g10], [g3, g11], [g4, g12], [g5, g13], [g6, g14], [g7, g15]
             2 tensor- and pipeline-parallel (tp-pp) groups:
             [g0, g1, g2, g3, g8, g9, g10, g11], [g4, g5, g6, g7, g12, g13, g14, g15]
            Total: 2 full models being partitioned into 16 GPUs
            model 0: is partitioned into gpus: 0,1,2,3,8,9,10,11
            model 1: is partitioned into gpus: 4,5,6,7,12,13,14,15
            """;
        assertTrue(printed.endsWith(expected), printed);
    }

    /** The ranks of a model share its weights over tp and its tokens over cp. */
    @Test
    void printsTheRanksOfEachModel() {
        assertTrue(run("--world_size=8", "--tensor_parallel=2", "--context_parallel=2").endsWith("""
            Total: 2 full models being partitioned into 8 GPUs
            model 0: is partitioned into gpus: 0,1,2,3
            model 1: is partitioned into gpus: 4,5,6,7
            """));
        assertTrue(run("--world_size=2").endsWith("""
            Total: 2 full models being partitioned into 2 GPUs
            model 0: is partitioned into gpus: 0
            model 1: is partitioned into gpus: 1
            """));
    }

    @Test
    void saysWhichGroupsCrossNodes() {
        String printed = run("--world_size", "8", "--tensor_parallel", "2", "--context_parallel", "2",
            "--gpus_per_node", "4", "--parallel_order", "tp-cp-dp");
        assertTrue(printed.contains("[g0, g4], [g1, g5], [g2, g6], [g3, g7]\n   all cross nodes"), printed);
        assertTrue(printed.contains("[g0, g1, g2, g3], [g4, g5, g6, g7]\n   none crosses nodes"), printed);
        assertTrue(run("--world_size=6", "--tensor_parallel=2", "--gpus_per_node=3")
            .contains("[g0, g1], [g2, g3], [g4, g5]\n   crossing nodes: [g2, g3]"));
    }

    @Test
    void showsTheSlicesOfAWeight() {
        String printed = run("--show_weight", "1024x512");
        assertEquals(16, printed.lines().filter(line -> line.matches("A\\d+= \\[1024, 32\\] = .*")).count());
        assertEquals(16, printed.lines().filter(line -> line.matches("A\\d+= \\[64, 512\\] = .*")).count());
        assertTrue(printed.contains("A1= [1024, 32] = W[32:64, :]^T"), printed);
        assertTrue(printed.contains("A15= [64, 512] = W[:, 960:1024]^T"), printed);
    }

    @Test
    void refusesWhatItCannotShow() {
        assertThrows(UserException.class, () -> run("--show_weight", "1024"));
        assertThrows(UserException.class, () -> run("--show_weight", "1024x"));
        assertThrows(UserException.class, () -> run("--show_weight", "1024x510"));
        assertThrows(UserException.class, () -> run("--world_size", "10", "--tensor_parallel", "4"));
        assertThrows(UserException.class, () -> run("--gpus_per_node", "0"));
    }

    private static String run(String... options) {
        StringWriter out = new StringWriter();
        CommandLine line = new CommandLine(new GroupsCommand()).setOut(new PrintWriter(out));
        line.parseArgs(options);
        ((GroupsCommand) line.getCommand()).call();
        return out.toString();
    }
}
