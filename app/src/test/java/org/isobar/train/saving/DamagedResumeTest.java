package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.checkpoint.Damage;
import org.isobar.train.PreviousRunFiles;
import org.isobar.train.ProcessJob;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Resumes from damaged checkpoints. Whichever checkpoint the run uses, its final weights have the bits of the
 * undisturbed run, so it read no damaged number.
 */
class DamagedResumeTest {
    private static final String THREE_EPOCHS = "num_iters=36";
    private static final String SHARD = "rank-00000.safetensors";
    private static final String MANIFEST = "checkpoint.json";

    @TempDir
    private static Path pristine;
    private static TinyRun undisturbed;
    @TempDir
    private Path directory;
    private Path run;
    private Path checkpoints;
    private Path older;
    private Path newer;

    /** Kinds of damage to a checkpoint, with the expected message. */
    private enum Defect {
        A_TRUNCATED_SHARD(SHARD + " has 1000 bytes instead of ") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Path shard = checkpoint.resolve(SHARD);
                Files.write(shard, Arrays.copyOf(Files.readAllBytes(shard), 1000));
            }
        },
        A_MISSING_SHARD(SHARD + " is missing") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Files.delete(checkpoint.resolve(SHARD));
            }
        },
        A_BIT_OF_A_SHARDS_HEADER(SHARD + ": bytes 0 to ") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Damage.flip(checkpoint.resolve(SHARD), 8 * 100);
            }
        },
        A_BIT_OF_A_SHARDS_DATA(SHARD + ": bytes 0 to ") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Damage.flip(checkpoint.resolve(SHARD), 8 * 100_000);
            }
        },
        A_BIT_OF_THE_MANIFEST("checkpoint.json is damaged: its checksum does not match") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Damage.flip(checkpoint.resolve(MANIFEST), 8 * 100);
            }
        },
        FOREIGN_JSON("checkpoint.json does not end with its checksum: it is truncated, or not Isobar's") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Files.writeString(checkpoint.resolve(MANIFEST), "{\"step\": 24}\n");
            }
        },
        A_LATER_FORMAT("it has format version 2") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Damage.rewrite(checkpoint, "\"version\" : 1", "\"version\" : 2");
            }
        },
        NO_MANIFEST("it is incomplete, or not an Isobar checkpoint: it has no checkpoint.json") {
            @Override
            void damage(Path checkpoint) throws IOException {
                Files.delete(checkpoint.resolve(SHARD));
                Files.delete(checkpoint.resolve(MANIFEST));
            }
        };

        private final String reason;

        Defect(String reason) {
            this.reason = reason;
        }

        abstract void damage(Path checkpoint) throws IOException;
    }

    @BeforeAll
    static void train() {
        TinyRun.synthesize(pristine);
        undisturbed = TinyRun.of(pristine, pristine.resolve("logs"), TinyRun.TWO_BLOCKS, THREE_EPOCHS, "keep=3")
            .succeeded();
    }

    /** Copies the run after two epochs. */
    @BeforeEach
    void copy() throws IOException {
        run = TinyRun.directory(directory);
        DirectoryTree.copy(undisturbed.directory(), run);
        checkpoints = run.resolve("checkpoints");
        older = checkpoints.resolve("checkpoint-12");
        newer = checkpoints.resolve("checkpoint-24");
        DirectoryTree.delete(checkpoints.resolve("checkpoint-36"));
    }

    private TinyRun resume(String... settings) {
        return TinyRun.of(pristine, directory, Stream.concat(Stream.of(TinyRun.TWO_BLOCKS, THREE_EPOCHS),
            Stream.of(settings)).toArray(String[]::new));
    }

    private void assertAsUndisturbed(TinyRun resumed) throws IOException {
        resumed.succeeded();
        assertArrayEquals(Files.readAllBytes(undisturbed.weights()), Files.readAllBytes(resumed.weights()));
    }

    private static String warning(TinyRun resumed, String start) {
        List<String> found = resumed.screen().lines().filter(line -> line.contains(" - WARNING - " + start)).toList();
        assertEquals(1, found.size(), resumed.screen());
        return found.getFirst();
    }

    @Test
    void autoUsesTheNewestIntactCheckpoint() throws IOException {
        for (Defect harm : Defect.values()) {
            int iteration = 25 + harm.ordinal();
            Path later = checkpoints.resolve("checkpoint-" + iteration);
            DirectoryTree.copy(newer, later);
            Damage.rewrite(later, "\"iteration\" : 24,\n  \"conf", "\"iteration\" : " + iteration + ",\n  \"conf");
            harm.damage(later);
        }
        TinyRun resumed = resume("resume=auto");
        assertAsUndisturbed(resumed);
        for (Defect harm : Defect.values()) {
            String warning = warning(resumed, "checkpoint " + checkpoints + "/checkpoint-" + (25 + harm.ordinal()));
            assertTrue(warning.contains(" cannot be used: " + harm.reason), warning);
        }
        assertTrue(resumed.screen().contains("Resuming after iteration 24 from " + newer), resumed.screen());
        assertEquals(ProcessJob.losses(undisturbed.directory()), ProcessJob.losses(resumed.directory()));
        assertEquals(Defect.values().length, DirectoryTree.names(run.resolve("checkpoints-1")).size());
    }

    @ParameterizedTest
    @EnumSource
    void namedDamagedCheckpointIsRefused(Defect harm) throws IOException {
        harm.damage(newer);
        List<String> before = DirectoryTree.contents(run);
        PreviousRunFiles.assertOneError(resume("resume=" + newer), List.of(
            "checkpoint " + newer + " cannot be used: " + harm.reason));
        assertEquals(before, DirectoryTree.contents(run));
    }

    @Test
    void withoutIntactCheckpointTheRunStartsAnew() throws IOException {
        Defect.A_BIT_OF_A_SHARDS_DATA.damage(older);
        Defect.NO_MANIFEST.damage(newer);
        TinyRun anew = resume("resume=auto");
        assertAsUndisturbed(anew);
        assertTrue(warning(anew, "checkpoint " + older).contains(Defect.A_BIT_OF_A_SHARDS_DATA.reason), anew.screen());
        assertTrue(warning(anew, "checkpoint " + newer).contains(Defect.NO_MANIFEST.reason), anew.screen());
        warning(anew, "No checkpoint in " + checkpoints + " is intact: the run starts at its first step");
        assertTrue(anew.screen().contains("moved to " + run.resolve("checkpoints-1")), anew.screen());
        assertTrue(Files.isRegularFile(run.resolve("checkpoints-1/checkpoint-12").resolve(SHARD)));
        assertTrue(Files.isDirectory(run.resolve("checkpoints-1/checkpoint-24")));
    }

    /** Leftovers of a process that was killed while writing or deleting. */
    @Test
    void leftoversOfAKilledWriterAreIgnored() throws IOException {
        Path left = Files.createDirectory(checkpoints.resolve(".checkpoint-36.tmp"));
        Files.copy(newer.resolve(SHARD), left.resolve(SHARD));
        Files.writeString(left.resolve("run"), "\"another\"");
        Path replaced = checkpoints.resolve(".checkpoint-1.replaced.tmp");
        DirectoryTree.copy(older, replaced);
        Damage.rewrite(replaced, "\"iteration\" : 12,\n  \"conf", "\"iteration\" : 1,\n  \"conf");
        TinyRun resumed = resume("resume=auto");
        assertAsUndisturbed(resumed);
        assertTrue(resumed.screen().contains("Resuming after iteration 24 from " + newer), resumed.screen());
        assertFalse(resumed.screen().contains("WARNING - checkpoint"), resumed.screen());
        assertEquals(List.of("checkpoint-24", "checkpoint-36"), DirectoryTree.names(checkpoints));
    }

    @Test
    void checkpointOfAnotherModelIsRefused() throws IOException {
        List<String> before = DirectoryTree.contents(run);
        for (String from : List.of("auto", newer.toString())) {
            PreviousRunFiles.assertOneError(resume("resume=" + from, "depth=3"), List.of("resuming from " + newer
                + " would change the result: depth", "2", "3", "--force"));
        }
        assertEquals(before, DirectoryTree.contents(run));
        PreviousRunFiles.assertOneError(resume("resume=auto", "depth=3", "force=true"), List.of(
            "no tensor blocks.2.", newer.toString(), "give a checkpoint of the configured model"));
        assertAsUndisturbed(resume("resume=auto"));
    }
}
