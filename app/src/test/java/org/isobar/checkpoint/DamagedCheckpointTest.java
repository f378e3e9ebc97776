package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Damage to a checkpoint is detected before a number of it is used. */
class DamagedCheckpointTest {
    private static final String SHARD = "rank-00000.safetensors";

    @TempDir
    private Path directory;
    private Path path;

    @BeforeEach
    void save() {
        path = CheckpointFixtures.save(directory, 5);
    }

    private void assertRefused(String reason) {
        assertEquals("checkpoint " + path + " cannot be used: " + reason + "; give another one",
            assertThrows(UserException.class, () -> Checkpoint.open(path)).getMessage());
    }

    @Test
    void aTruncatedShard() throws IOException {
        byte[] bytes = Files.readAllBytes(path.resolve(SHARD));
        Files.write(path.resolve(SHARD), Arrays.copyOf(bytes, bytes.length - 4));
        assertRefused(SHARD + " has " + (bytes.length - 4) + " bytes instead of " + bytes.length);
    }

    @Test
    void aShardTruncatedWhileItIsRead() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            byte[] bytes = Files.readAllBytes(path.resolve(SHARD));
            Files.write(path.resolve(SHARD), Arrays.copyOf(bytes, 1000));
            UserException failure = assertThrows(UserException.class,
                () -> CheckpointTest.read(checkpoint, "bias", Shard.whole()));
            assertEquals("cannot read checkpoint " + path.resolve(SHARD)
                + ": it ends after 1000 bytes; check the path and its permissions", failure.getMessage());
            assertEquals(List.of(SHARD + ": it has 1000 bytes instead of " + bytes.length), checkpoint.verify());
        }
    }

    @Test
    void aMissingShard() throws IOException {
        Files.delete(path.resolve(SHARD));
        assertRefused(SHARD + " is missing");
    }

    /** Flips bits of the header length, of the header, of the first block's data and of the last block's data. */
    @ParameterizedTest
    @CsvSource({"3, 0", "200, 0", "40000, 0", "38000000, 4"})
    void aFlippedBitInAShard(long bit, long block) throws IOException {
        Damage.flip(path.resolve(SHARD), bit);
        long size = Files.size(path.resolve(SHARD));
        String damage = SHARD + ": bytes " + block * CheckpointManifest.BLOCK_BYTES + " to "
            + (Math.min((block + 1) * CheckpointManifest.BLOCK_BYTES, size) - 1) + " are damaged";
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertEquals(List.of(damage), checkpoint.verify());
            assertEquals("checkpoint " + path + " cannot be used: " + damage + "; give another one",
                assertThrows(UserException.class, () -> CheckpointTest.read(checkpoint, "large", Shard.whole()))
                    .getMessage());
        }
    }

    /** Reading a slice checks only its own blocks. */
    @Test
    void damageInOtherBlocksDoesNotMatter() throws IOException {
        Damage.flip(path.resolve(SHARD), 38_000_000);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            Shard first = new Shard(0, 2, 0);
            assertArrayEquals(CheckpointFixtures.slice("large", Shape.of(1200, 1000), first),
                CheckpointTest.read(checkpoint, "large", first));
            assertThrows(UserException.class, () -> CheckpointTest.read(checkpoint, "large", new Shard(0, 2, 1)));
        }
    }

    @Test
    void aFlippedBitInTheManifest() throws IOException {
        byte[] bytes = Files.readAllBytes(path.resolve(CheckpointManifest.FILE));
        for (int bit = 0; bit < bytes.length * Byte.SIZE; bit++) {
            bytes[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
            assertThrows(MalformedException.class, () -> ManifestReader.parse(bytes));
            bytes[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
        }
        Damage.flip(path.resolve(CheckpointManifest.FILE), 1000);
        assertRefused("checkpoint.json is damaged: its checksum does not match");
    }

    @Test
    void aManifestTruncatedAnywhere() throws IOException {
        byte[] whole = Files.readAllBytes(path.resolve(CheckpointManifest.FILE));
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(MalformedException.class, () -> ManifestReader.parse(cut));
        }
        Files.write(path.resolve(CheckpointManifest.FILE), Arrays.copyOf(whole, 1000));
        assertRefused("checkpoint.json does not end with its checksum: it is truncated, or not Isobar's");
    }

    @Test
    void aLaterVersion() throws IOException {
        Damage.rewrite(path, "\"version\" : 1", "\"version\" : 2");
        assertRefused("it has format version 2, and this program reads versions up to 1: it needs a newer Isobar");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        "format" : "isobar checkpoint" | "format" : "other"       | checkpoint.json is not Isobar's
        "index" : 0                    | "index" : 1              | checkpoint.json cannot be parsed: Cannot construct
        "parts" : 1                    | "parts" : 2              | tensor weight has 1 of 2 slices
        "file" : "rank-00000.s         | "file" : "rank-00001.s   | tensor weight refers to the unlisted file rank-0
        "rank-00000.safetensors" : {   | "../00.safetensors" : {  | ../00.safetensors is not the name of a shard
        "blockBytes" : 1048576         | "blockBytes" : 0         | it has blocks of 0 bytes
        "blockBytes" : 1048576         | "blockBytes" : 1048578   | it has blocks of 1048578 bytes
        "blockBytes" : 1048576         | "blockBytes" : 4194304   | rank-00000.safetensors has 5 checksums for 2 blocks
        "iteration" : 5                | "iteration" : null       | checkpoint.json cannot be parsed: Cannot
        "tensors" : {                  | "tonsers" : {            | checkpoint.json cannot be parsed: Missing
        """)
    void inconsistentManifests(String what, String by, String reason) throws IOException {
        Damage.rewrite(path, what, by);
        String message = assertThrows(UserException.class, () -> Checkpoint.open(path)).getMessage();
        assertTrue(message.startsWith("checkpoint " + path + " cannot be used: " + reason), message);
    }

    @Test
    void aTensorOfAnotherShapeThanTheShards() throws IOException {
        Damage.rewrite(path, "\"shape\" : [ 8 ]", "\"shape\" : [ 9 ]");
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            String reason = SHARD + ": it has no tensor bias [9] of F32";
            assertEquals(List.of(reason), checkpoint.verify());
            assertTrue(assertThrows(UserException.class, () -> checkpoint.read("bias", Shard.whole(),
                MemorySegment.ofArray(new float[9]))).getMessage().contains(reason));
        }
    }

    /** If a writer does not align its tensors, a number may span two blocks. */
    @Test
    void aMisalignedTensor() throws IOException {
        String header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
        Path file = SafeTensorsFiles.write(directory, header, new byte[4]);
        CRC32C sum = new CRC32C();
        sum.update(Files.readAllBytes(file));
        StoredFile stored =
            new StoredFile(Files.size(file), List.of(sum.getValue()));
        CheckpointManifest manifest = new CheckpointManifest(CheckpointManifest.FORMAT, CheckpointManifest.VERSION, 5,
            Map.of(), null, Map.of(),
            CheckpointManifest.BLOCK_BYTES, Map.of(file.getFileName().toString(), stored));
        try (ShardFile shard = ShardFile.open(file, manifest)) {
            int start = Long.BYTES + header.length();
            assertEquals("tensor w begins at byte " + start + ", which is not a multiple of 4",
                assertThrows(MalformedException.class, () -> shard.find("w", Shape.of(1))).getMessage());
        }
    }

    @Test
    void foreignAndMissingDirectories() throws IOException {
        Files.delete(path.resolve(CheckpointManifest.FILE));
        assertRefused("it is incomplete, or not an Isobar checkpoint: it has no checkpoint.json");
        Files.writeString(path.resolve(CheckpointManifest.FILE), "{\"step\": 5}\n");
        assertRefused("checkpoint.json does not end with its checksum: it is truncated, or not Isobar's");
        Path none = directory.resolve("none");
        assertEquals("cannot read checkpoint " + none + ": No such file or directory; check the path and its "
            + "permissions", assertThrows(UserException.class, () -> Checkpoint.open(none)).getMessage());
    }
}
