package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What export_DDP_vars.sh tells a task of its node's GPUs. */
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
        ProcessBuilder task = new ProcessBuilder("bash", "-c",
            "source ../export_DDP_vars.sh && echo ${CUDA_VISIBLE_DEVICES-none}").redirectErrorStream(true);
        task.environment().clear();
        task.environment().putAll(Map.of("PATH", directory + ":" + System.getenv("PATH"), "SLURM_JOB_ID", "1",
            "SLURM_STEP_ID", "0", "SLURM_PROCID", "0", "SLURM_LOCALID", "0", "SLURM_NTASKS", "4",
            "SLURM_STEP_TASKS_PER_NODE", "4"));
        if (named != null) {
            task.environment().put("CUDA_VISIBLE_DEVICES", named);
        }
        Process process = task.start();
        assertEquals(visible, new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip());
        assertEquals(0, process.waitFor());
    }
}
