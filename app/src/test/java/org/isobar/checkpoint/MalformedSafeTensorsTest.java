package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every violation of the format gives one message and never another exception. */
class MalformedSafeTensorsTest {
    @TempDir
    private Path directory;

    private String failure(Path path) {
        UserException failure = assertThrows(UserException.class, () -> SafeTensorsFile.open(path));
        String prefix = path + " is not a complete safetensors file: ";
        String suffix = "; copy or write it again";
        String message = failure.getMessage();
        assertTrue(message.startsWith(prefix) && message.endsWith(suffix), message);
        return message.substring(prefix.length(), message.length() - suffix.length());
    }

    private static String entry(String name, String type, String shape, String offsets) {
        return "\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":%s}".formatted(name, type, shape, offsets);
    }

    /** The data of the file has 8 bytes in each case. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        F32 | [2]           | [0,8]     | valid, so that the others fail for the given reason
        F32 | [3]           | [0,8]     | tensor w: [3] of F32 does not match its 8 bytes
        F32 | [2,2]         | [0,8]     | tensor w: [2,2] of F32 does not match its 8 bytes
        F16 | [2]           | [0,8]     | tensor w: [2] of F16 does not match its 8 bytes
        F64 | [2]           | [0,8]     | tensor w: [2] of F64 does not match its 8 bytes
        F32 | [4]           | [0,16]    | it is truncated: its tensors need 16 bytes, and only 8 follow the header
        F32 | [1]           | [0,4]     | 4 bytes after tensor w belong to no tensor
        F32 | [1]           | [4,8]     | between the header and tensor w 4 bytes belong to no tensor
        F32 | [2]           | [8,0]     | tensor w: data_offsets is not [begin, end]
        F32 | [2]           | [0,8,8]   | tensor w: data_offsets is not [begin, end]
        F32 | [2]           | []        | tensor w: data_offsets is not [begin, end]
        F32 | [2]           | 8         | tensor w: data_offsets is not an array
        F32 | [2]           | [-8,0]    | tensor w: data_offsets holds -8
        F32 | [2]           | [0,8.0]   | tensor w: data_offsets holds 8.0
        F32 | [2]           | [0,"8"]   | tensor w: data_offsets holds "8"
        F32 | [2]           | [0,1e99]  | tensor w: data_offsets holds 1.0E99
        F32 | [2]           | [0,99999999999999999999] | tensor w: data_offsets holds 99999999999999999999
        F32 | [-2]          | [0,8]     | tensor w: shape holds -2
        F32 | [2.0]         | [0,8]     | tensor w: shape holds 2.0
        F32 | [null]        | [0,8]     | tensor w: shape holds null
        F32 | {}            | [0,8]     | tensor w: shape is not an array
        F32 | [0]           | [0,0]     | tensor w is empty
        F32 | [4294967296,4294967296]     | [0,8] | tensor w is larger than any file
        F32 | [2305843009213693952,2]     | [0,8] | tensor w is larger than any file
        f32 | [2]           | [0,8]     | tensor w has the unknown type "f32"
        C64 | [1]           | [0,8]     | tensor w has the unknown type "C64"
        """)
    void refusesInconsistentEntries(String type, String shape, String offsets, String reason) throws IOException {
        Path path = SafeTensorsFiles.write(directory, "{" + entry("w", type, shape, offsets) + "}", new byte[8]);
        if (reason.startsWith("valid")) {
            SafeTensorsFile.open(path).close();
        } else {
            assertEquals(reason, failure(path));
        }
    }

    @Test
    void refusesOverlapsAndGaps() throws IOException {
        String first = entry("a", "F32", "[2]", "[0,8]");
        assertEquals("tensor b overlaps tensor a", failure(SafeTensorsFiles.write(directory,
            "{" + entry("b", "F32", "[2]", "[4,12]") + "," + first + "}", new byte[12])));
        assertEquals("tensor b overlaps tensor a", failure(SafeTensorsFiles.write(directory,
            "{" + first + "," + entry("b", "F32", "[2]", "[0,8]") + "}", new byte[8])));
        assertEquals("between tensor a and tensor b 4 bytes belong to no tensor", failure(SafeTensorsFiles.write(
            directory, "{" + first + "," + entry("b", "F32", "[1]", "[12,16]") + "}", new byte[16])));
    }

    @Test
    void refusesDuplicateNames() throws IOException {
        String reason = failure(SafeTensorsFiles.write(directory,
            "{" + entry("w", "F32", "[1]", "[0,4]") + "," + entry("w", "F32", "[1]", "[4,8]") + "}", new byte[8]));
        assertEquals("its header is not valid JSON: Duplicate field 'w'", reason);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"w\":5}", "{\"w\":{}}", "{\"w\":{\"dtype\":\"F32\",\"shape\":[2]}}",
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}",
    })
    void refusesEntriesWithOtherFields(String header) throws IOException {
        assertEquals("tensor w must have exactly the fields dtype, shape and data_offsets",
            failure(SafeTensorsFiles.write(directory, header, new byte[8])));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"__metadata__\":[]}", "{\"__metadata__\":{\"a\":1}}", "{\"__metadata__\":{\"a\":null}}"})
    void refusesMetadataThatIsNotText(String header) throws IOException {
        assertTrue(failure(SafeTensorsFiles.write(directory, header, new byte[0])).startsWith("__metadata__ "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", " {}", "null", "\uFEFF{}"})
    void refusesHeadersThatAreNotObjects(String header) throws IOException {
        assertEquals("its header does not begin with '{'",
            failure(SafeTensorsFiles.write(directory, header, new byte[0])));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "{\"w\"", "{} {}", "{}x", "{'w':1}", "{\"w\":NaN}", "{\0}"})
    void refusesHeadersThatAreNotJson(String header) throws IOException {
        assertTrue(failure(SafeTensorsFiles.write(directory, header, new byte[0])).startsWith(
            "its header is not valid JSON: "));
    }

    @Test
    void refusesHeadersThatAreNotUtf8OrNestedTooDeeply() throws IOException {
        byte[] latin = "{\"größe\":1}".getBytes(StandardCharsets.ISO_8859_1);
        assertEquals("its header is not UTF-8",
            failure(SafeTensorsFiles.write(directory, latin.length, latin, new byte[0])));
        assertTrue(failure(SafeTensorsFiles.write(directory, "{\"w\":" + "[".repeat(100_000), new byte[0])).startsWith(
            "its header is not valid JSON: "));
    }

    @ParameterizedTest
    @CsvSource({"-1, 18446744073709551615", "100000001, 100000001", "9223372036854775807, 9223372036854775807"})
    void refusesImpossibleHeaderLengths(long length, String shown) throws IOException {
        assertEquals("its header claims " + shown + " bytes",
            failure(SafeTensorsFiles.write(directory, length, "{}".getBytes(StandardCharsets.UTF_8), new byte[0])));
    }

    @Test
    void refusesAFileTruncatedAnywhere() throws IOException {
        Path whole = directory.resolve("whole.safetensors");
        SafeTensorsWriter.write(whole, List.of(new SafeTensorsWriter.NamedTensor("w", Shape.of(2),
            memory -> memory.copyFrom(MemorySegment.ofArray(new float[] {1, 2})))), Map.of());
        byte[] bytes = Files.readAllBytes(whole);
        Path cut = directory.resolve("cut.safetensors");
        for (int length = 0; length < bytes.length; length++) {
            Files.write(cut, Arrays.copyOf(bytes, length));
            String reason = failure(cut);
            assertEquals(length < 8 ? "it has " + length + " bytes" : "it is truncated", length < 8 ? reason
                : reason.substring(0, "it is truncated".length()), reason);
        }
    }

    @Test
    void aChangedByteCausesNoOtherException() throws IOException {
        byte[] whole = Files.readAllBytes(SafeTensorsFiles.write(directory,
            "{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F16", "[2]", "[8,12]") + "}", new byte[12]));
        Path path = directory.resolve("changed.safetensors");
        Random random = new Random(7);
        int refused = 0;
        for (int i = 0; i < 500; i++) {
            byte[] changed = whole.clone();
            changed[random.nextInt(changed.length - 12)] = (byte) random.nextInt();
            Files.write(path, changed);
            try {
                SafeTensorsFile.open(path).close();
            } catch (UserException e) {
                refused++;
            }
        }
        assertTrue(refused > 400, "refused: " + refused);
    }

    @Test
    void reportsWhyAFileCannotBeRead() {
        Path missing = directory.resolve("missing.safetensors");
        assertEquals("cannot read weights " + missing
            + ": No such file or directory; check the path and its permissions",
            assertThrows(UserException.class, () -> SafeTensorsFile.open(missing)).getMessage());
        assertEquals("cannot read weights " + directory + ": Is a directory; check the path and its permissions",
            assertThrows(UserException.class, () -> SafeTensorsFile.open(directory)).getMessage());
        assertTrue(assertThrows(UserException.class, () -> SafeTensorsFile.open(Path.of("/dev/zero"))).getMessage()
            .contains("It is a pipe or a device, not a regular file"));
    }

    @Test
    void aFileMayHaveNoTensors() throws IOException {
        try (SafeTensorsFile weights = SafeTensorsFile.open(SafeTensorsFiles.write(directory, "{}", new byte[0]))) {
            assertEquals(List.of(), weights.names());
        }
    }
}
