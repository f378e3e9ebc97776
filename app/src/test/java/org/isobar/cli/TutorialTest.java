package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.train.ProcessJob;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine.ParseResult;

/** The pages of {@code docs/tutorial}: the laptop track at the size of tiny, and all commands, presets and links. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TutorialTest {
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]*)(?:#([^)]*))?\\)");
    private static final Pattern SCRIPT_ARGUMENTS = Pattern.compile("sbatch .*submit_pm[a-z_]*\\.sh(.*)");

    private static final double ROUNDING = 2e-6; // the log has six digits of training losses

    @TempDir
    Path directory;

    static Stream<Path> pages() {
        return Stream.concat(TutorialBlock.chapters().stream(),
            Stream.of("README.md", "coverage.md").map(TutorialBlock.CHAPTERS::resolve));
    }

    @Test
    void laptopTrackShowsWhatItClaims() throws Exception {
        TutorialShell shell = new TutorialShell(directory);
        List<TutorialBlock> blocks = TutorialBlock.all();
        assertFalse(blocks.isEmpty());
        for (TutorialBlock block : blocks) {
            String output = shell.run(block);
            for (String expected : block.expected()) {
                assertTrue(Pattern.compile(expected.replace("demo", "tiny")).matcher(output).find(),
                    () -> block + ": not seen: " + expected + "\n" + output);
            }
        }
        Path runs = directory.resolve("logs/tiny");
        for (String layout : List.of("2GPU/dp2", "2MP/tp2", "2MP/cp2", "4MP/tp2cp2")) {
            assertSameLosses(runs.resolve("1GPU/fp32"), runs.resolve(layout), ROUNDING);
        }
        assertSameLosses(runs.resolve("1GPU/fp32"), runs.resolve("1GPU/cut"), 0);
        Path loader = directory.resolve("logs/lesson_loader/1GPU");
        assertSameLosses(loader.resolve("00"), loader.resolve("workers2"), 0);
    }

    private static void assertSameLosses(Path expected, Path found, double tolerance) throws IOException {
        Map<String, List<Double>> losses = ProcessJob.losses(expected);
        assertEquals(2, losses.size());
        ProcessJob.losses(found).forEach((kind, values) -> {
            assertEquals(losses.get(kind).size(), values.size(), found + " " + kind);
            for (int epoch = 0; epoch < values.size(); epoch++) {
                assertEquals(losses.get(kind).get(epoch), values.get(epoch), tolerance, found + " " + kind);
            }
        });
    }

    @ParameterizedTest
    @MethodSource("pages")
    void commandsParse(Path page) {
        for (String command : TutorialBlock.commandsOf(page)) {
            List<String> words = new ArrayList<>(TutorialShell.words(command));
            int program = words.indexOf("./isobar");
            Matcher script = SCRIPT_ARGUMENTS.matcher(command);
            if (program >= 0) {
                check(command, words.subList(program + 1, words.size()));
            } else if (script.matches()) {
                List<String> train = new ArrayList<>(List.of("train"));
                train.addAll(Stream.of(script.group(1).strip().split(" +")).filter(word -> !word.isEmpty()).toList());
                check(command, train);
            }
        }
    }

    /** Parses a command; if it takes a preset, resolves it for as many processes as its layout needs at least. */
    private static void check(String command, List<String> arguments) {
        ProgramContext context = TutorialShell.context(Map.of());
        ParseResult parsed = TutorialShell.parsed(arguments, context);
        int at = arguments.indexOf("train");
        if (arguments.getFirst().equals("launch")) {
            assertTrue(at > 0 || arguments.contains("verify") || arguments.contains("evaluate"), command);
            parsed = TutorialShell.parsed(arguments.subList(2, arguments.size()), context);
        }
        if (ConfigOptions.areDeclaredBy(parsed.commandSpec())) {
            Map<String, String> settings = ConfigOptions.settings(parsed);
            int ranks = Integer.parseInt(settings.getOrDefault("tensor_parallel", "1"))
                * Integer.parseInt(settings.getOrDefault("context_parallel", "1"));
            ConfigOptions.resolve(parsed, TutorialShell.context(Map.of("WORLD_SIZE", String.valueOf(ranks), "RANK", "0",
                "LOCAL_RANK", "0", "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "20000")));
        }
    }

    @ParameterizedTest
    @MethodSource("pages")
    void linksResolve(Path page) {
        Matcher link = LINK.matcher(TutorialBlock.text(page));
        while (link.find()) {
            Path target = link.group(1).isEmpty() ? page : page.resolveSibling(link.group(1)).normalize();
            assertTrue(Files.exists(target), () -> page + " links to " + target);
            if (link.group(2) != null) {
                assertTrue(anchors(target).contains(link.group(2)), () -> page + " links to " + link.group());
            }
        }
    }

    /** GitHub's anchors of the headings of a page. */
    private static List<String> anchors(Path page) {
        return TutorialBlock.text(page).lines().filter(line -> line.matches("#{1,6} .*"))
            .map(line -> line.replaceFirst("#+ ", "").toLowerCase().replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-')).toList();
    }

    @Test
    void everyChapterIsInTheTableOfContents() {
        String contents = TutorialBlock.text(TutorialBlock.CHAPTERS.resolve("README.md"));
        List<String> missing = TutorialBlock.chapters().stream().map(chapter -> chapter.getFileName().toString())
            .filter(name -> !contents.contains("(" + name + ")")).toList();
        assertEquals(List.of(), missing);
    }
}
