package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the submit scripts run the program, and the check before the tasks start, with stubs for all programs. */
class SubmitContainerTest {
    private static final String TRAIN = "<train><--config=short><--resume=auto>\n";

    @TempDir
    private Path directory;
    private StubbedJob job;

    @BeforeEach
    void prepare() throws IOException {
        job = new StubbedJob(directory);
    }

    @Test
    void withoutAnImageTheProgramRunsOnTheNode() throws Exception {
        job.script("bin/shifter", "echo shifter; exit 1");
        String output = job.run(0, "submit_pm.sh", "--config=short");
        assertFalse(output.contains("shifter"), output);
        assertTrue(output.startsWith("isobar\n<doctor>" + TRAIN), output);
        assertTrue(output.endsWith("isobar\n" + TRAIN), output);
    }

    @Test
    void anImageRunsInTheContainerOfTheMachine() throws Exception {
        job.put("ISOBAR_IMAGE", "me/isobar:1");
        job.put("ISOBAR_PROGRAM", "/opt/isobar/isobar");
        job.script("bin/shifter", "echo shifter; " + StubbedJob.WORDS);
        String output = job.run(0, "submit_pm.sh", "--config=short");
        String prefix = "shifter\n<--image=me/isobar:1><--module=gpu,nccl-plugin><-V><" + directory.resolve("logs")
            + ":/logs></opt/isobar/isobar>";
        assertTrue(output.startsWith(prefix + "<doctor>" + TRAIN), output);
        assertTrue(output.endsWith(prefix + TRAIN), output);
    }

    @Test
    void anImageWithoutAContainerProgramEndsTheJob() throws Exception {
        job.put("ISOBAR_IMAGE", "me/isobar:1");
        String output = job.run(2, "submit_pm.sh", "--config=short");
        assertTrue(output.startsWith("ISOBAR_IMAGE=me/isobar:1, but there is neither shifter nor podman-hpc on "),
            output);
        assertEquals(1, output.lines().count(), output);
    }

    /** What the check says is its own; the job ends with its code and starts no task. */
    @Test
    void aFailedCheckEndsTheJobBeforeItsTasks() throws Exception {
        job.script("isobar", "echo \"$1 of rank $RANK of $WORLD_SIZE\"; exit 2");
        job.put("SLURM_NTASKS", "4");
        assertEquals("doctor of rank 0 of 4\n", job.run(2, "submit_pm_dp.sh", "--config=short"));
    }

    /** As in a shell of salloc, which may be on a machine without GPUs. */
    @Test
    void outsideTheNodesTheCheckRunsAsATask() throws Exception {
        job.put("SLURMD_NODENAME", "");
        job.script("bin/srun", "echo srun; " + StubbedJob.WORDS + "; exit 3");
        String output = job.run(3, "submit_pm.sh", "--config=short");
        assertEquals("srun\n<--nodes=1><--ntasks=1><" + directory.resolve("isobar") + "><doctor>" + TRAIN, output);
    }
}
