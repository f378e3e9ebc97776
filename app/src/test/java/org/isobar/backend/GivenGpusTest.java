package org.isobar.backend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

import org.isobar.backend.cuda.driver.CudaObstacle;
import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What tells a process that it was given GPUs, and what {@code --device=auto} makes of GPUs that cannot be used. */
class GivenGpusTest {
    private static final Path RECORDED = Path.of("src/test/resources/org/isobar/backend/slurm-environments.txt");
    private static final CudaReport NO_CUDA = new CudaReport(Optional.empty(), List.of(), List.of());
    private static final CudaObstacle OBSTACLE = new CudaObstacle("no NVIDIA driver", "install it");

    @TempDir
    private Path devices;

    /** Environments that Slurm itself made, in shells and tasks of jobs with and without GPUs. */
    @Test
    void slurmsOwnVariables() throws IOException {
        Map<String, Map<String, String>> recorded = recorded();
        assertEquals(16, recorded.size());
        recorded.forEach((name, environment) -> {
            GivenGpus given = GivenGpus.of(environment, devices);
            assertTrue(given.slurm(), name);
            assertEquals(name.startsWith("--g") && !name.startsWith("--gpus-per-node=0")
                || name.startsWith("salloc --g"), given.any(), name + ": " + given);
        });
        assertEquals("CUDA_VISIBLE_DEVICES=0, SLURM_GPUS_ON_NODE=1, SLURM_JOB_GPUS=0, SLURM_STEP_GPUS=0",
            GivenGpus.of(recorded.get("--gres=gpu:1, task"), devices).toString());
    }

    private static Map<String, Map<String, String>> recorded() throws IOException {
        Map<String, Map<String, String>> all = new LinkedHashMap<>();
        Map<String, String> current = Map.of();
        for (String line : Files.readAllLines(RECORDED)) {
            if (line.startsWith("[")) {
                current = new HashMap<>();
                all.put(line.substring(1, line.length() - 1), current);
            } else if (!line.startsWith("#")) {
                current.put(line.substring(0, line.indexOf('=')), line.substring(line.indexOf('=') + 1));
            }
        }
        return all;
    }

    @Test
    void otherFormsOfRequests() {
        for (String given : List.of("SLURM_GPUS=a100:4", "SLURM_GPUS_PER_SOCKET=1", "SLURM_JOB_GRES=gpu:2",
                "SLURM_STEP_GRES=gres:gpu:a100:1", "SLURM_GPUS_PER_NODE=4(x2)", "CUDA_VISIBLE_DEVICES=GPU-5c89")) {
            assertTrue(inSlurm(given).any(), given);
        }
        for (String none : List.of("SLURM_GPUS=0", "SLURM_GPUS_PER_NODE=a100:0", "SLURM_JOB_GRES=(null)",
                "SLURM_JOB_GRES=gpu:0", "CUDA_VISIBLE_DEVICES=NoDevFiles", "CUDA_VISIBLE_DEVICES=-1",
                "CUDA_VISIBLE_DEVICES=", "SLURM_STEP_GPUS=", "SLURM_JOB_NAME=gpu:4")) {
            assertFalse(inSlurm(none).any(), none);
        }
    }

    private GivenGpus inSlurm(String variable) {
        String[] parts = variable.split("=", 2);
        return GivenGpus.of(Map.of("SLURM_JOB_ID", "7", parts[0], parts[1]), devices);
    }

    @Test
    void filesOfTheDriver() throws IOException {
        Files.createFile(devices.resolve("nvidiactl"));
        assertFalse(GivenGpus.of(Map.of("SLURM_JOB_ID", "7"), devices).any());
        Path first = Files.createFile(devices.resolve("nvidia0"));
        assertEquals(List.of(first.toString()), GivenGpus.of(Map.of("SLURM_JOB_ID", "7"), devices).signs());
        assertEquals(List.of(first.toString()), GivenGpus.of(Map.of(), devices).signs());
        assertFalse(GivenGpus.of(Map.of("CUDA_VISIBLE_DEVICES", ""), devices).any(), "hidden on purpose");
        assertTrue(GivenGpus.of(Map.of("CUDA_VISIBLE_DEVICES", "", "SLURM_JOB_ID", "7"), devices).any());
    }

    @Test
    void underSlurmUnusableGpusAreAnError() throws IOException {
        GpuFindings found = found(recorded().get("--gpus-per-node=4, task"), OBSTACLE);
        assertEquals("--device auto: Slurm has given this process GPUs (CUDA_VISIBLE_DEVICES=0,1,2,3, "
            + "SLURM_GPUS_ON_NODE=4, SLURM_GPUS_PER_NODE=4, SLURM_JOB_GPUS=0,1,2,3, SLURM_STEP_GPUS=0,1,2,3), and none "
            + "can be used: no NVIDIA driver: install it; or set ISOBAR_IMAGE to a container image that has the "
            + "libraries of CUDA and NCCL, or load a module that has them; to train on the CPU on purpose, pass "
            + "--device=cpu", found.refusal().orElseThrow());
        assertEquals(Optional.empty(), found(recorded().get("--gpus-per-node=4, task")).refusal(), "usable");
        assertEquals(Optional.empty(), found(recorded().get("no GPUs, task"), OBSTACLE).refusal(), "none given");
    }

    @Test
    void outsideSlurmTheyAreAWarning() throws IOException {
        assertEquals(List.of(), found(Map.of(), OBSTACLE).warning());
        Files.createFile(devices.resolve("nvidia0"));
        GpuFindings found = found(Map.of(), OBSTACLE);
        assertEquals(Optional.empty(), found.refusal());
        assertEquals(5, found.warning().size());
        assertTrue(found.warning().get(1).contains("GPU OF THIS MACHINE IS NOT USED (" + devices.resolve("nvidia0")));
        assertEquals("Reason: no NVIDIA driver: install it", found.warning().get(2));
        assertEquals(List.of(), found(Map.of()).warning(), "usable");
    }

    private GpuFindings found(Map<String, String> environment, CudaObstacle... obstacles) {
        return new GpuFindings(NO_CUDA, List.of(obstacles), GivenGpus.of(environment, devices));
    }

    @Test
    void autoNeverFallsBackToTheCpuOfAGpuNode() throws IOException {
        DeviceOptions bare = options(Map.of());
        Assumptions.assumeTrue(!GpuFindings.of(bare).obstacles().isEmpty(), "this machine has a usable GPU");
        for (String job : List.of("--gpus-per-node=4, task", "--gpus-per-node=4, shell of the job",
                "salloc --gpus-per-node=2, shell")) {
            DeviceOptions given = options(recorded().get(job));
            UserException refusal =
                assertThrows(UserException.class, () -> Backend.AUTO.open(given, _ -> { }), job);
            assertTrue(refusal.getMessage().startsWith("--device auto: Slurm has given this process GPUs ("), job);
            Backend.CPU.open(given, _ -> { }).close();
        }
        List<String> log = new ArrayList<>();
        try (JobDevice device = Backend.AUTO.open(options(recorded().get("no GPUs, task")), log::add)) {
            assertEquals(Backend.CPU, Backend.of(device));
        }
        assertTrue(log.getLast().contains("(chosen by auto: "), log::toString);
    }

    private static DeviceOptions options(Map<String, String> environment) {
        return DeviceOptions.of(OptionalInt.of(1), new RankEnvironment(0, 1, 0, "localhost", 1), CommBackend.AUTO,
            environment);
    }
}
