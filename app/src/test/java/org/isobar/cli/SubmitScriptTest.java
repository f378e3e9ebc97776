package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the submit scripts make of the variables of a job, with stubs for Slurm's programs. */
class SubmitScriptTest {
    @TempDir
    private Path directory;
    private StubbedJob job;

    @BeforeEach
    void prepare() throws IOException {
        job = new StubbedJob(directory);
    }

    @Test
    void aRequeuedJobResumesWhateverItsOptionsSay() throws Exception {
        job.put("SLURM_RESTART_COUNT", "1");
        String output = job.run(0, "submit_pm.sh", "--set", "resume=never", "--set=resume=never", "--resume", "never",
            "--resume=never", "--set", "lr=1e-3");
        assertTrue(output.contains("isobar\n<train><--set><lr=1e-3><--resume=auto>\n"), output);
    }

    /** The id of one job of an array is also the id of the array, which would be requeued as a whole. */
    @Test
    void aJobOfAnArrayIsRequeuedAlone() throws Exception {
        job.put("SLURM_ARRAY_JOB_ID", "7");
        job.put("SLURM_ARRAY_TASK_ID", "3");
        job.script("isobar", "[ \"$1\" = doctor ] || exit 75");
        job.script("bin/scontrol", "echo here; echo scontrol; " + StubbedJob.WORDS);
        job.script("bin/squeue", "echo RUNNING; (echo squeue; " + StubbedJob.WORDS + ") >&2");
        String output = job.run(75, "submit_pm.sh");
        assertTrue(output.contains("squeue\n<--noheader><--jobs=7_3><--format=%T>\n"), output);
        assertTrue(output.contains("scontrol\n<requeue><7_3>\n"), output);
        assertTrue(output.contains("job 7_3 is requeued"), output);
    }

    /** With CDPATH, cd may enter another directory and prints its name. */
    @Test
    void logsAreWrittenToARelativeDirectoryOfTheJob() throws Exception {
        Files.createDirectories(directory.resolve("elsewhere/logs"));
        job.put("CDPATH", directory.resolve("elsewhere") + ":.");
        job.put("LOGDIR", "logs");
        job.script("isobar", "[ \"$1\" = doctor ] || echo \"logs in $LOGDIR, failures in $ISOBAR_FAILURE\"");
        String output = job.run(0, "submit_pm.sh");
        Path logs = directory.toRealPath().resolve("logs");
        assertTrue(output.contains("logs in " + logs + ", failures in " + logs + "/.failure-7\n"), output);
        assertFalse(output.contains("elsewhere"), output);
    }
}
