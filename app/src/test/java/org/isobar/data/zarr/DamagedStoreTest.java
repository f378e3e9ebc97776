package org.isobar.data.zarr;

import static org.isobar.data.zarr.ZarrStoreTest.refusal;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Stores that cannot be read are refused with one line that names the file, the array and what is wrong. */
class DamagedStoreTest {
    @TempDir
    private Path directory;
    private Path small;
    private Path version3;

    @BeforeEach
    void directories() {
        small = directory.resolve("small");
        version3 = directory.resolve("version3");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "small/plain | '\"shape\": [' | '\"shape\": [-1,' | has no shape of whole numbers",
        "small/plain | '\"shape\": [' | '\"shape\": [1e99,' | has no shape of whole numbers",
        "small/plain | '\"chunks\": [' | '\"chunks\": [3,' | has chunks of [3,2,1,3,4]",
        "small/plain | '\"chunks\": [\n        2' | '\"chunks\": [0' | has chunks without elements",
        "small/plain | '\"order\": \"C\"' | '\"order\": \"K\"' | has the order 'K'",
        "small/plain | '\"fill_value\": null' | '\"fill_value\": \"none\"' | 'has the fill_value \"none\"'",
        "small/plain | '\"zarr_format\": 2' | '\"zarr_format\": 1' | its zarr_format is 1",
        "small/plain | '\"order\": \"C\"' | '\"order\": \"C' | it is not valid JSON",
        "small/plain | '\"order\": \"C\"' | '\"dimension_separator\": \"/../\"' | has the dimension_separator '/../'",
        "version3/plain | '\"name\": \"regular\"' | '\"name\": \"rectilinear\"' | has the chunk grid",
        "version3/plain | '\"fill_value\": 0' | '\"fill_value\": \"0x00\"' | 'has the fill_value \"0x00\"'",
        "version3/plain | '\"name\": \"default\"' | '\"name\": \"hashed\"' | has the chunk_key_encoding",
        "version3/plain | '\"separator\": \".\"' | '\"separator\": \"/../\"' | has the separator",
        "version3/plain | '\"zarr_format\": 3' | '\"zarr_format\": 4' | its zarr_format is 4",
        "version3/plain | '\"lon\"' | '\"lon\", \"member\"' | has 4 dimensions and the names",
        "version3/transposed | '\"order\": [\n          3' | '\"order\": [\n          1' | is transposed by",
    })
    void metadataThatAreDamaged(String path, String text, String replacement, String finding) throws IOException {
        Path file = directory.resolve(path).resolve(path.startsWith("version3") ? "zarr.json" : ".zarray");
        Path store = file.getParent().getParent();
        String array = file.getParent().getFileName().toString();
        ZarrFixtures.unpack(store.getFileName().toString(), store, array);
        replace(file, text, replacement);
        assertOneLine(refusal(store, array), file.toString(), finding);
    }

    @Test
    void groupsThatAreNone() throws IOException {
        ZarrFixtures.unpack("small", small, "plain");
        ZarrFixtures.unpack("version3", version3, "plain");
        assertOneLine(refusal(directory, "plain"), directory.toString(), "is not a Zarr store");
        assertOneLine(refusal(version3.resolve("plain"), "plain"), version3.resolve("plain").toString(),
            "is an array, not a group");
        Files.writeString(small.resolve(".zmetadata"), "[1]");
        assertOneLine(refusal(small, "plain"), small.resolve(".zmetadata").toString(), "it is not a JSON object");
        Files.writeString(small.resolve(".zmetadata"), "{}");
        assertOneLine(refusal(small, "plain"), small.resolve(".zmetadata").toString(), "it has no 'metadata'");
    }

    @ParameterizedTest
    @CsvSource({"small, unknown, its codec 'bz2' is not known", "version3, unknown, its codec 'pcodec' is not known"})
    void codecsThatAreNotKnown(String store, String array, String finding) throws IOException {
        ZarrFixtures.unpack(store, directory.resolve(store), array);
        assertOneLine(refusal(directory.resolve(store), array), directory.resolve(store).toString(), array, finding);
    }

    @Test
    void codecsOneAfterAnother() throws IOException {
        ZarrFixtures.unpack("small", small, "double");
        ZarrFixtures.unpack("version3", version3, "plain", "shards", "shards_start");
        replace(small.resolve("double/.zarray"), "\"filters\": null", "\"filters\": [{\"id\": \"gzip\"}]");
        assertOneLine(refusal(small, "double"), small.toString(), "'double'", "it is compressed twice");
        replace(version3.resolve("shards/zarr.json"), "\"codecs\":[{\"name\":\"bytes\"",
            "\"codecs\":[{\"name\":\"sharding_indexed\"},{\"name\":\"bytes\"");
        assertOneLine(refusal(version3, "shards"), version3.toString(), "'shards'", "its shards are in shards");
        replace(version3.resolve("shards_start/zarr.json"), "\"chunk_shape\":[2,1,3,4]", "\"chunk_shape\":[3,1,3,4]");
        assertOneLine(refusal(version3, "plain"), version3.resolve("shards_start/zarr.json").toString(),
            "has shards of [4, 2, 6, 8] with chunks of [3,1,3,4]");
    }

    @Test
    void chunksThatAreMissingWithoutAFillValue() throws IOException {
        ZarrFixtures.unpack("small", small, "undefined");
        assertOneLine(refusal(small, "undefined"), "'undefined'", small.resolve("undefined/0.0.0.0").toString(),
            "does not exist");
    }

    /** Each cut of a chunk is refused, and so is a chunk with bytes behind its end. */
    @ParameterizedTest
    @CsvSource({"small, plain/0.0.0.0", "small, big/0.0.0.0", "small, double/0.0.0.0", "small, nested/0/0/0/0",
        "small, lz4/0.0.0.0", "small, bytes/0.0", "version3, gzip/c/0/0/0/0", "version3, checked/c/0/0/0/0",
        "version3, shards/c/0/0/0/0", "version3, shards_start/c/0/0/0/0", "version3, transposed/c/0/0/0/0"})
    void chunksThatAreCut(String store, String chunk) throws IOException {
        Path file = directory.resolve(store).resolve(chunk);
        String array = chunk.substring(0, chunk.indexOf('/'));
        ZarrFixtures.unpack(store, directory.resolve(store), array);
        byte[] whole = Files.readAllBytes(file);
        for (int k = 0; k < 12; k++) {
            Files.write(file, Arrays.copyOf(whole, whole.length * k / 12));
            assertOneLine(refusal(directory.resolve(store), array), file.toString(), "'" + array + "'",
                "cannot be decoded");
        }
    }

    @Test
    void chunksOfOtherSizes() throws IOException {
        ZarrFixtures.unpack("small", small, "plain", "double");
        Files.write(small.resolve("plain/0.0.0.0"), new byte[97]);
        assertOneLine(refusal(small, "plain"), "it has 97 bytes instead of 96");
        Files.copy(small.resolve("double/0.0.0.0"), Files.newOutputStream(small.resolve("plain/0.0.0.0")));
        replace(small.resolve("plain/.zarray"), "\"compressor\": null", "\"compressor\": {\"id\": \"zstd\"}");
        assertOneLine(refusal(small, "plain"), small.resolve("plain/0.0.0.0").toString(), "ZSTD");
        Files.write(small.resolve("plain/0.0.0.0"), new byte[2 << 20]);
        assertOneLine(refusal(small, "plain"), "more than a chunk of these extents can have");
    }

    @Test
    void chunksThatAreNoFiles() throws IOException {
        ZarrFixtures.unpack("small", small, "plain");
        Path file = small.resolve("plain/0.0.0.0");
        Files.delete(file);
        Files.createDirectory(file);
        assertOneLine(refusal(small, "plain"), file.toString(), "Is a directory");
    }

    /** Bytes that were changed are read or refused, in bounded time. */
    @ParameterizedTest
    @ValueSource(strings = {"blosclz_bytes_4096", "lz4_bits_4096", "zlib_bytes_0", "zstd_bytes_4096"})
    void changedBytesOfBlosc(String array) throws IOException {
        Path blosc = directory.resolve("blosc");
        ZarrFixtures.unpack("blosc", blosc, array);
        Path file = blosc.resolve(array).resolve("0.0.0");
        byte[] whole = Files.readAllBytes(file);
        int refused = 0;
        for (int i = 0; i < 60; i++) {
            byte[] changed = whole.clone();
            changed[i < 30 ? i : (i * 7919) % whole.length] ^= (byte) (1 + i * 37);
            Files.write(file, changed);
            refused += isRefused(blosc, array) ? 1 : 0;
        }
        assertTrue(refused > 15, "refused " + refused);
    }

    private static boolean isRefused(Path store, String name) {
        try (ZarrStore opened = ZarrStore.open(store)) {
            ZarrStoreTest.read(ZarrStoreTest.array(opened, name), new int[3], new int[] {2, 41, 57});
            return false;
        } catch (UserException refused) {
            assertOneLine(refused.getMessage(), name, "cannot be decoded");
            return true;
        }
    }

    private static void replace(Path file, String text, String replacement) throws IOException {
        String content = Files.readString(file);
        assertTrue(content.contains(text), content);
        Files.writeString(file, content.replace(text, replacement));
    }

    private static void assertOneLine(String message, String... parts) {
        assertFalse(message.contains("\n"), message);
        assertEquals(List.of(), Arrays.stream(parts).filter(part -> !message.contains(part)).toList(), message);
    }
}
