package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What export_DDP_vars.sh tells a task of its node. */
class ExportVarsTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        0,1,2,3 | 0 1 | 3,2,1,0
        GPU-7f  | 0 1 | GPU-7f
                | 0 1 | 1,0
                |     | none
        """)
    void theLastGpuOfThoseThatSlurmNamesComesFirst(String named, String onNode, String visible) throws Exception {
        Path nvidiaSmi = directory.resolve("nvidia-smi");
        Files.writeString(nvidiaSmi, "#!/bin/sh\nfor n in " + (onNode == null ? "" : onNode)
            + "; do echo \"GPU $n: NVIDIA (UUID: GPU-$n)\"; echo '  MIG 1g.10gb'; done\n");
        nvidiaSmi.toFile().setExecutable(true);
        Map<String, String> variables = new HashMap<>(Map.of("PATH", directory + ":" + System.getenv("PATH")));
        if (named != null) {
            variables.put("CUDA_VISIBLE_DEVICES", named);
        }
        assertEquals(visible, echo("${CUDA_VISIBLE_DEVICES-none}", variables));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        4         | 0  | 4
        4(x2)     | 1  | 4
        4,2       | 0  | 4
        4,2       | 1  | 2
        1(x12),2  | 11 | 1
        1(x12),2  | 12 | 2
        3,2(x2),1 | 2  | 2
        3,2(x2),1 | 3  | 1
        """)
    void tasksOfANodeAreCounted(String list, String node, String count) throws Exception {
        assertEquals(count, echo("$LOCAL_WORLD_SIZE",
            Map.of("SLURM_STEP_TASKS_PER_NODE", list, "SLURM_NODEID", node)));
    }

    /** nproc prints the value of OMP_NUM_THREADS if that is set. */
    @Test
    void threadsAreTheCoresOfTheTaskWhateverOpenMpIsTold() throws Exception {
        assertEquals(echo("$ISOBAR_THREADS", Map.of()),
            echo("$ISOBAR_THREADS", Map.of("OMP_NUM_THREADS", "77", "OMP_THREAD_LIMIT", "78")));
        assertEquals("1", echo("$ISOBAR_THREADS", Map.of("SLURM_CPUS_PER_TASK", "1")));
    }

    /** What a task of four on a node prints, in which more variables are set. */
    private static String echo(String words, Map<String, String> variables) throws Exception {
        ProcessBuilder task = new ProcessBuilder("bash", "-c", "source ../export_DDP_vars.sh && echo " + words)
            .redirectErrorStream(true);
        task.environment().clear();
        task.environment().putAll(Map.of("PATH", System.getenv("PATH"), "SLURM_JOB_ID", "1", "SLURM_STEP_ID", "0",
            "SLURM_PROCID", "0", "SLURM_LOCALID", "0", "SLURM_NTASKS", "4", "SLURM_STEP_TASKS_PER_NODE", "4"));
        task.environment().putAll(variables);
        Process process = task.start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertEquals(0, process.waitFor(), printed);
        return printed;
    }
}
