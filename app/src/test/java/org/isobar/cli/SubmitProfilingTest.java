package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** ENABLE_PROFILING in the submit scripts: Slurm's programs only pass on what they get, nsys says it besides. */
class SubmitProfilingTest {
    @TempDir
    private Path directory;
    private StubbedJob job;

    @BeforeEach
    void prepare() throws IOException {
        job = new StubbedJob(directory);
        job.put("ENABLE_PROFILING", "1");
    }

    @ParameterizedTest
    @CsvSource({"submit_pm.sh, ''", "submit_pm_dp.sh, ''", "submit_pm_mp.sh, <--cuda-graph-trace=node>"})
    void theProgramRunsUnderNsys(String script, String more) throws Exception {
        profiler();
        job.put("PROFILE_OUTPUT", "baseline");
        String output = job.run(0, script, "--config=short");
        assertTrue(output.contains("nsys\n<profile><--trace=cuda,cublas,nvtx>" + more
            + "<--kill><none><-c><cudaProfilerApi><-f><true><-o><" + directory.resolve("logs/baseline") + "><"
            + directory.resolve("isobar") + "><train><--config=short><--resume=auto>\n"), output);
        assertTrue(output.contains("isobar\n<train><--config=short><--resume=auto>\n"), output);
    }

    @Test
    void eachTaskHasAFileOfItsOwn() throws Exception {
        profiler();
        job.put("SLURM_NTASKS", "2");
        String output = job.run(0, "submit_pm_dp.sh");
        for (int rank = 0; rank < 2; rank++) {
            assertTrue(output.contains("<-o><" + directory.resolve("logs/profile-rank" + rank) + ">"), output);
        }
    }

    @Test
    void theProgramsCodePassesThroughNsys() throws Exception {
        profiler();
        job.script("isobar", "[ \"$1\" = doctor ] || exit 5");
        assertTrue(job.run(5, "submit_pm.sh").contains("Rank 0 failed first, with code 5."));
    }

    @Test
    void withoutNsysTheJobTrainsAndSaysSoOnce() throws Exception {
        job.put("SLURM_NTASKS", "2");
        String output = job.run(0, "submit_pm_dp.sh", "--config=short");
        assertEquals(2, output.split("ENABLE_PROFILING=1, but there is no nsys", -1).length, output);
        assertEquals(3, output.split("isobar\n<train><--config=short><--resume=auto>\n", -1).length, output);
    }

    @Test
    void noRankIsProfiledByDefault() throws Exception {
        profiler();
        job.put("ENABLE_PROFILING", "0");
        assertFalse(job.run(0, "submit_pm.sh").contains("nsys\n"));
    }

    private void profiler() throws IOException {
        job.script("bin/nsys", "echo nsys; " + StubbedJob.WORDS
            + "\nwhile [ \"$1\" != -o ]; do shift; done; shift 2; exec \"$@\"");
    }
}
