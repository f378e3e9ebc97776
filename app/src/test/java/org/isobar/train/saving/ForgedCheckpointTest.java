package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.checkpoint.Damage;
import org.isobar.fault.UserException;
import org.isobar.train.PreviousRunFiles;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checkpoints whose checksums are right and whose contents are not. Named explicitly, each is refused with one line;
 * {@code --resume=auto} skips it with a warning and finds the older one.
 */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ForgedCheckpointTest {
    private static final String ONE_EPOCH = "num_iters=12";
    private static final String MANIFEST = "checkpoint.json";
    private static final String SHARD = "rank-00000.safetensors";
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private static Path pristine;
    private static TinyRun trained;
    @TempDir
    private Path directory;
    private Path older;
    private Path forged;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(pristine);
        trained = TinyRun.of(pristine, pristine.resolve("logs"), ONE_EPOCH).succeeded();
    }

    @BeforeEach
    void copy() throws IOException {
        Path checkpoints = TinyRun.directory(directory).resolve("checkpoints");
        DirectoryTree.copy(trained.directory().resolve("checkpoints"), checkpoints);
        older = checkpoints.resolve("checkpoint-0");
        forged = checkpoints.resolve("checkpoint-12");
    }

    private Optional<Resumption> find(String resume, List<String> warnings) {
        return Resumption.find(TinyRun.config(pristine, directory, ONE_EPOCH, "resume=" + resume),
            SavedState.RESUMABLE, warnings::add);
    }

    /** Fails unless the forged checkpoint is refused and skipped; returns the message. */
    private String refused() {
        UserException refusal = assertThrows(UserException.class, () -> find(forged.toString(), new ArrayList<>()));
        String message = refusal.getMessage();
        assertTrue(message.contains("checkpoint " + forged), message);
        assertTrue(message.chars().noneMatch(Character::isISOControl) && message.length() < 1000, message);
        List<String> warnings = new ArrayList<>();
        assertEquals(Optional.of(older), find("auto", warnings).map(Resumption::path));
        assertEquals(List.of(message), warnings);
        return message;
    }

    @Test
    void theUnchangedCheckpointIsAccepted() throws IOException {
        Damage.edit(forged, _ -> { });
        List<String> warnings = new ArrayList<>();
        assertEquals(Optional.of(forged), find("auto", warnings).map(Resumption::path));
        assertEquals(List.of(), warnings);
    }

    @Test
    void aCheckpointWithoutAnEngineIsOfOwnKernels() throws IOException {
        Damage.edit(forged, root -> ((ObjectNode) root.get("state")).remove("attention"));
        assertEquals("isobar", find("auto", new ArrayList<>()).orElseThrow().state().attention());
    }

    /**
     * Paths of all fields and first elements of the manifest; of the tensors and the configuration, those of the first.
     * Left out are those that may be null, or an object of any entries.
     */
    static Stream<String> fields() throws IOException {
        List<String> paths = new ArrayList<>();
        Path manifest = trained.directory().resolve("checkpoints/checkpoint-12").resolve(MANIFEST);
        collect("", JSON.readTree(manifest.toFile()), paths);
        paths.removeAll(List.of("/crc32c", "/configuration", "/state/scores/persistence"));
        return paths.stream();
    }

    private static void collect(String path, JsonNode node, List<String> paths) {
        if (node.isObject()) {
            Iterable<String> names = path.equals("/tensors") || path.equals("/configuration")
                ? List.of(node.fieldNames().next()) : node::fieldNames;
            for (String name : names) {
                paths.add(path + "/" + name);
                collect(path + "/" + name, node.get(name), paths);
            }
        } else if (node.isArray() && !node.isEmpty()) {
            paths.add(path + "/0");
            collect(path + "/0", node.get(0), paths);
        }
    }

    @ParameterizedTest
    @MethodSource("fields")
    void nullInAnyField(String path) throws IOException {
        Damage.edit(forged, root -> set(root, path, NullNode.instance));
        refused();
    }

    @ParameterizedTest
    @MethodSource("fields")
    void anObjectInAnyField(String path) throws IOException {
        Damage.edit(forged, root -> set(root, path, root.objectNode().put("\u001b[2J", 1)));
        refused();
    }

    private static void set(ObjectNode root, String path, JsonNode value) {
        String parent = path.substring(0, path.lastIndexOf('/'));
        String name = path.substring(parent.length() + 1);
        switch (root.at(parent)) {
            case ArrayNode list -> list.set(Integer.parseInt(name), value);
            case ObjectNode map -> map.set(name, value);
            default -> throw new AssertionError(path);
        }
    }

    /** In a path, T stands for the first tensor, P for its first piece and F for the first file. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        /version                    | -1
        /version                    | 0
        /version                    | 1.0
        /version                    | "1"
        /version                    | 99999999999999999999
        /iteration                  | 11
        /iteration                  | -12
        /iteration                  | 12.0
        /iteration                  | 9007199254740993
        /blockBytes                 | 2147483644
        /format                     | "\\u001b]0;title\\u0007"
        /state                      | []
        /tensors/T/shape            | [1099511627776, 1099511627776]
        /tensors/T/shape            | [4611686018427387904]
        /tensors/T/shape            | [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
        /tensors/T/shape            | [0]
        /tensors/T/shape            | [-8]
        /tensors/T/shape            | ["8"]
        /tensors/T/pieces           | []
        /tensors/T/pieces/0/file    | "../../../../etc/passwd"
        /tensors/T/pieces/0/shard   | {"dim": -1, "parts": 1, "index": 0}
        /tensors/T/pieces/0/shard   | {"dim": 9, "parts": 2, "index": 0}
        /tensors/T/pieces/0/shard   | {"dim": 0, "parts": 2147483647, "index": 0}
        /files/F/bytes              | -1
        /files/F/bytes              | 9223372036854775807
        /files/F/crc32c             | [-1]
        /files/F/crc32c             | [4294967296]
        /files/F/crc32c             | []
        /state/epoch                | -1
        /state/epoch                | 13
        /state/epoch                | 2147483648
        /state/epoch                | 1.5
        /state/epoch                | "1"
        /state/step                 | -1
        /state/step                 | 12
        /state/losses               | 1
        /state/losses               | -1
        /state/lossSum              | "NaN"
        /state/badSteps             | -1
        /state/badSteps             | 13
        /state/control              | []
        /state/control              | [0, 0, 0, 0, 0, 0, 0]
        /state/control              | [0, -1, 0, 1, 0, 0, 0]
        /state/control              | ["NaN", 0, 0, 1, 0, 0, 0]
        /state/progress             | {"taken": -1, "skipped": 0, "scale": 1}
        /state/progress             | {"taken": 1, "skipped": 0, "scale": 0}
        /state/scores/rmse          | []
        /state/scores/persistence   | []
        /state/best/iteration       | -1
        /state/best/iteration       | 13
        /state/written/log          | -1
        /state/written/events       | -1
        /state/written/board        | "/tmp/events.out.tfevents.1"
        /state/written/board        | "events.out.tfevents.1/../../../../outside"
        /state/written/board        | "../outside"
        /state/written/board        | ".."
        /state/written/board        | "checkpoint.json"
        /state/written/board        | "events.out.tfevents.\\u001b[2J"
        """)
    void impossibleValues(String path, String json) throws IOException {
        JsonNode value = JSON.readTree(json);
        Damage.edit(forged, root -> set(root, path.replace("/T/", "/" + root.get("tensors").fieldNames().next() + "/")
            .replace("/F/", "/" + SHARD + "/"), value));
        refused();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "/state", "/files", "/tensors", "/configuration", "/state/written"})
    void unknownFieldsAndNestedOnes(String path) throws IOException {
        Damage.edit(forged, root -> {
            JsonNode nested = root.arrayNode();
            for (int depth = 0; depth < 500; depth++) {
                nested = root.arrayNode().add(nested);
            }
            ((ObjectNode) root.at(path)).set("more", nested);
        });
        refused();
    }

    @ParameterizedTest
    @ValueSource(strings = {MANIFEST, SHARD})
    void filesThatAreNotRegular(String name) throws Exception {
        Path file = forged.resolve(name);
        Files.delete(file);
        Files.createSymbolicLink(file, Path.of("/dev/zero"));
        refused();
        Files.delete(file);
        Files.createDirectory(file);
        refused();
        Files.delete(file);
        Process made = new ProcessBuilder("mkfifo", file.toString()).start();
        assertTrue(made.waitFor(10, TimeUnit.SECONDS) && made.exitValue() == 0);
        refused();
    }

    @Test
    void aManifestLargerThanAny() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(forged.resolve(MANIFEST).toFile(), "rw")) {
            file.setLength(1L << 40); // sparse
        }
        assertTrue(refused().contains("It has 1099511627776 bytes"));
    }

    /** The whole run: it writes nothing outside its directory. */
    @Test
    void anEventFileElsewhereIsNotWritten() throws IOException {
        Path outside = Files.write(directory.resolve("outside"), new byte[100]);
        Damage.edit(forged, root -> ((ObjectNode) root.at("/state/written")).put("board", outside.toString()));
        PreviousRunFiles.assertOneError(TinyRun.of(pristine, directory, ONE_EPOCH, "resume=" + forged),
            List.of("checkpoint " + forged + " cannot be used: its training state has an impossible value of written"));
        TinyRun.of(pristine, directory, ONE_EPOCH, "resume=auto").succeeded();
        assertEquals(100, Files.size(outside));
        Files.delete(outside);
        assertEquals(List.of("tiny"), DirectoryTree.names(directory));
    }
}
