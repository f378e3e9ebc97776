package org.isobar.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A file of presets that is too large, however it says so, is refused at once and with one line. */
@Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class YamlLimitsTest {
    private static final String TOO_MANY = "with its aliases replaced it has more than 100000 values";

    @TempDir
    private Path directory;
    private Path file;

    @BeforeEach
    void name() {
        file = directory.resolve("presets.yaml");
    }

    private String refused(String text) throws IOException {
        Files.writeString(file, text);
        return refused();
    }

    private String refused() {
        String message = assertThrows(UserException.class,
            () -> ConfigLoader.load(new ConfigRequest(file, "base", Map.of()))).getMessage();
        assertTrue(message.contains(file.toString()), message);
        assertEquals(1, message.lines().count(), message);
        return message;
    }

    /** Lines {@code L1: &L1 [*L0, *L0]} and so on: each stands for twice as many values as the one before. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        L0: &L0 [0, 0]  | L%1$d: &L%1$d [*L%2$d, *L%2$d]                  | 25
        L0: &L0 {a: 0}  | L%1$d: &L%1$d {a: *L%2$d, b: *L%2$d}            | 25
        L0: &L0 {a: 0}  | L%1$d: &L%1$d {? *L%2$d : 1, b: *L%2$d, c: *L%2$d} | 25
        L0: &L0 {a: 0}  | L%1$d: &L%1$d {x%1$d: 0, <<: [*L%2$d, *L%2$d]}  | 25
        L0: &L0 [0]     | L%1$d: &L%1$d [*L%2$d]                          | 900
        """)
    void aliasesOfAliases(String first, String following, int lines) throws IOException {
        String text = first + "\n" + IntStream.rangeClosed(1, lines)
            .mapToObj(line -> following.formatted(line, line - 1) + "\n").collect(Collectors.joining());
        assertTrue(refused(text + "base:\n  depth: *L" + lines + "\n").contains(TOO_MANY));
    }

    @Test
    void aliasesInASetting() {
        String value = "[&a [0, 0], " + IntStream.range(0, 25).mapToObj(i -> "&%1$c [*%2$c, *%2$c]"
            .formatted('b' + i, 'a' + i)).collect(Collectors.joining(", ")) + "]";
        ConfigRequest request = new ConfigRequest(file, "base", Map.of());
        String message = assertThrows(UserException.class, () -> request.set("depth=" + value)).getMessage();
        assertTrue(message.startsWith("--set depth=[&a") && message.contains("is not valid YAML"), message);
    }

    @Test
    void moreAliasesThanAnyPresetNeeds() throws IOException {
        assertTrue(refused("base: &b [0]\nother: [" + "*b, ".repeat(1001) + "0]\n").contains("Number of aliases"));
    }

    @Test
    void nestingTooDeep() throws IOException {
        assertTrue(refused("base: " + "[".repeat(100_000)).contains("Nesting Depth exceeded max 50"));
        assertTrue(refused("base: " + "{a: ".repeat(100_000)).contains("Nesting Depth exceeded max 50"));
    }

    @Test
    void tooManyBytesOrValues() throws IOException {
        assertTrue(refused("base: x\n#" + "-".repeat(1 << 20)).contains("It has 1048585 bytes"));
        assertTrue(refused("base:\n" + "  - 1\n".repeat(100_001)).contains(TOO_MANY));
        assertTrue(refused("base:\n  depth: " + "x".repeat(1_000_000)).length() < 1000);
        assertTrue(refused("base:\n  ? " + "x".repeat(1_000_000) + "\n  : 1").contains("there is no key 'xxx"));
    }

    /** A regular expression that backtracks would take hours. */
    @Test
    void longNumbersThatAreNone() {
        String digits = "1".repeat(1_000_000) + "x";
        ConfigRequest request = new ConfigRequest(Path.of("..", "config", "ViT.yaml"), "tiny", Map.of());
        for (String key : new String[] {"lr", "dropout", "depth"}) {
            String message = assertThrows(UserException.class,
                () -> ConfigLoader.load(request.with(key, digits))).getMessage();
            assertTrue(message.contains(key + " is '111") && message.length() < 1000, message);
        }
    }

    @Test
    void charactersThatAreNotText() throws IOException {
        assertTrue(refused("base:\n  depth: \0").endsWith("special characters are not allowed."));
        assertTrue(refused("base:\n  \"\\e[2J\": 1").contains("no key '\\u001b[2J'"));
    }

    @Test
    void filesThatAreNotRegular() throws Exception {
        Files.createSymbolicLink(file, Path.of("/dev/zero"));
        assertTrue(refused().contains("It is a pipe or a device"));
        Files.delete(file);
        Process made = new ProcessBuilder("mkfifo", file.toString()).start();
        assertTrue(made.waitFor(10, TimeUnit.SECONDS) && made.exitValue() == 0);
        assertTrue(refused().contains("It is a pipe or a device"));
    }
}
