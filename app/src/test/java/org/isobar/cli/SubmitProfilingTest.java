package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** ENABLE_PROFILING in the submit scripts: Slurm's programs only pass on what they get, nsys says it besides. */
class SubmitProfilingTest {
    private static final String WORDS = "printf '<%s>' \"$@\"; echo";

    @TempDir
    private Path directory;
    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void furnish() throws IOException {
        for (String script : List.of("submit_pm.sh", "submit_pm_dp.sh", "submit_pm_mp.sh", "export_DDP_vars.sh")) {
            Files.copy(Path.of("..", script), directory.resolve(script));
        }
        Files.createDirectory(directory.resolve("bin"));
        script("isobar", "echo isobar; " + WORDS);
        script("bin/scontrol", "echo here");
        script("bin/srun", """
            while [ "$1" != bash ]; do shift; done
            code=0
            for rank in $(seq 0 $((SLURM_NTASKS - 1))); do
                SLURM_STEP_ID=0 SLURM_PROCID=$rank SLURM_LOCALID=$rank SLURM_STEP_TASKS_PER_NODE=$SLURM_NTASKS "$@" ||
                    code=$?
            done
            exit $code""");
        environment.put("PATH", directory.resolve("bin") + ":" + System.getenv("PATH"));
        environment.putAll(Map.of("SLURM_JOB_ID", "7", "SLURM_JOB_NODELIST", "here", "SLURMD_NODENAME", "here",
            "SLURM_NTASKS", "1", "SLURM_SUBMIT_DIR", directory.toString(), "LOGDIR",
            directory.resolve("logs").toString(), "ISOBAR_IMAGE", "none", "ENABLE_PROFILING", "1"));
    }

    @ParameterizedTest
    @CsvSource({"submit_pm.sh, ''", "submit_pm_dp.sh, ''", "submit_pm_mp.sh, <--cuda-graph-trace=node>"})
    void theProgramRunsUnderNsys(String script, String more) throws Exception {
        profiler();
        environment.put("PROFILE_OUTPUT", "baseline");
        String output = run(0, script, "--config=short");
        assertTrue(output.contains("nsys\n<profile><--trace=cuda,cublas,nvtx>" + more
            + "<--kill><none><-c><cudaProfilerApi><-f><true><-o><" + directory.resolve("logs/baseline") + "><"
            + directory.resolve("isobar") + "><train><--config=short><--resume=auto>\n"), output);
        assertTrue(output.contains("isobar\n<train><--config=short><--resume=auto>\n"), output);
    }

    @Test
    void eachTaskHasAFileOfItsOwn() throws Exception {
        profiler();
        environment.put("SLURM_NTASKS", "2");
        String output = run(0, "submit_pm_dp.sh");
        for (int rank = 0; rank < 2; rank++) {
            assertTrue(output.contains("<-o><" + directory.resolve("logs/profile-rank" + rank) + ">"), output);
        }
    }

    @Test
    void theProgramsCodePassesThroughNsys() throws Exception {
        profiler();
        script("isobar", "[ \"$1\" = doctor ] || exit 5");
        assertTrue(run(5, "submit_pm.sh").contains("Rank 0 failed first, with code 5."));
    }

    @Test
    void withoutNsysTheJobTrainsAndSaysSoOnce() throws Exception {
        environment.put("SLURM_NTASKS", "2");
        String output = run(0, "submit_pm_dp.sh", "--config=short");
        assertEquals(2, output.split("ENABLE_PROFILING=1, but there is no nsys", -1).length, output);
        assertEquals(3, output.split("isobar\n<train><--config=short><--resume=auto>\n", -1).length, output);
    }

    @Test
    void nobodyIsProfiledUnasked() throws Exception {
        profiler();
        environment.put("ENABLE_PROFILING", "0");
        assertFalse(run(0, "submit_pm.sh").contains("nsys\n"));
    }

    private void profiler() throws IOException {
        script("bin/nsys", "echo nsys; " + WORDS + "\nwhile [ \"$1\" != -o ]; do shift; done; shift 2; exec \"$@\"");
    }

    private void script(String name, String body) throws IOException {
        Path script = Files.writeString(directory.resolve(name), "#!/bin/bash\n" + body + "\n");
        assertTrue(script.toFile().setExecutable(true));
    }

    /** What the job prints. */
    private String run(int code, String... command) throws Exception {
        ProcessBuilder builder = new ProcessBuilder("bash", directory.resolve(command[0]).toString());
        builder.command().addAll(List.of(command).subList(1, command.length));
        builder.environment().keySet().removeIf(name -> name.startsWith("SLURM_"));
        builder.environment().putAll(environment);
        Path output = directory.resolve("output");
        Process process = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
        try {
            assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the job hangs");
        } finally {
            process.destroyForcibly();
        }
        assertEquals(code, process.exitValue(), () -> output.toString());
        return Files.readString(output);
    }
}
