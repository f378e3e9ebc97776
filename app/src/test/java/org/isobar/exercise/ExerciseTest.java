package org.isobar.exercise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The answers of the documentation are right; of gaps, mistakes and code that fails, the check says what is wrong. */
class ExerciseTest {
    private static final Map<String, String> ANSWERS = answers();

    @TempDir
    private Path directory;

    /** The answers of the documentation by class. */
    private static Map<String, String> answers() {
        try {
            String page = Files.readString(Path.of("..", "docs", "tutorial", "exercises.md"));
            return Pattern.compile("```java\n(.*?class (\\w+).*?)```", Pattern.DOTALL).matcher(page).results()
                .collect(Collectors.toMap(block -> block.group(2), block -> block.group(1)));
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static Stream<Exercise> exercises() {
        return Exercise.ALL.stream();
    }

    @ParameterizedTest
    @MethodSource("exercises")
    void theAnswerIsRightAndTheCopyIsNot(Exercise exercise) throws IOException {
        assertEquals(List.of(), check(exercise, ANSWERS.get(exercise.source())));
        Path copy = exercise.copy(directory.resolve("copies"));
        assertFalse(exercise.check(copy).isEmpty());
        assertTrue(Files.readString(copy).contains("// TODO: "));
        assertTrue(assertThrows(UserException.class, () -> exercise.copy(copy.getParent())).getMessage()
            .contains("exists, and is not replaced"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "large-batch | rate * newBatch / batch | rate * batch / newBatch "
            + "| linear(5e-4, 16, 128) is 6.250e-05, and must be 0.004000",
        "large-batch | Math.sqrt((double) newBatch / batch) | newBatch / batch "
            + "| squareRoot(5e-4, 16, 128) is 0.004000, and must be 0.001410, as preset bs128_opt has",
        "large-batch | (step + 1.0) / warmup | (double) step / warmup "
            + "| atStep(1e-3, 0, 10, 100) is 0.000, and must be 0.0001000",
        "overlap | gradients[j] /= ranks.size() | gradients[j] /= 1 "
            + "| rank 0: after finish, gradient 0 of bucket 3 is 148.0, and the mean over the ranks is 74.00: it is",
        "overlap | sums.add(dp.startAllReduce(gradients)); "
            + "| sums.add(dp.startAllReduce(gradients)); sums.getLast().await(); "
            + "| rank 1: ready(2) waits for bucket 2: backward stands still meanwhile; wait in finish",
        "overlap | sums.add(dp.startAllReduce(gradients)) | if (bucket > 0) sums.add(dp.startAllReduce(gradients)) "
            + "| rank 0: the sum of bucket 0 was never started",
        "rank-order | order.split(\"-\") | java.util.List.of(order.split(\"-\")).reversed() | order tp-cp-dp of sizes "
            + "{tp=2, cp=3, dp=4}, rank 1: the coordinates are {dp=1, cp=0, tp=0}, and must be {tp=1, cp=0, dp=0}",
        "rank-order | rest % sizes.get(axis) | rest | rank 2: the coordinates are {tp=2, cp=1, dp=0}, and must",
        "column-parallel | tp.allReduce(dx.values()); | tp.allReduce(dw1.values()); "
            + "| rank 1: backward: dx differs from the serial layers' by up to 6.330: [1, 2] is 1.950, and must be",
        "column-parallel | tp.allReduce(y.values()); | tp.allReduce(y.values()); tp.allReduce(y.values()); "
            + "| rank 0: forward: y differs from the serial layers' by up to 13.65: [2, 2] is -27.30, and must be "
            + "-13.65. It is 2 times the right value: equal terms were summed over the ranks",
        "column-parallel | return y; | return h; | rank 0: forward: y is 3 x 6, and must be 3 x 4",
        "column-parallel | return y; | return null; | rank 1: forward returned null",
        "column-parallel | return y; | return y.times(y); | rank 0: forward threw IllegalArgumentException at "
            + "ColumnParallel.java:11: the product of 3 x 4 and 3 x 4: the inner sizes differ",
        "column-parallel | tp.allReduce(y.values()); | if (tp.rank() == 0) { tp.allReduce(y.values()); } "
            + "| rank 1: backward threw CommunicationException at ColumnParallel.java:",
        "column-parallel | dx, dw1, dw2); | dx, null, dw2); | rank 0: backward: dw1 is null",
        "large-batch | return rate * newBatch / batch; | return linear(rate, batch, newBatch); "
            + "| linear threw StackOverflowError at LargeBatch.java:6"})
    void mistakesAreNamed(String name, String right, String wrong, String expected) throws IOException {
        Exercise exercise = Exercise.named(name);
        String answer = ANSWERS.get(exercise.source());
        assertTrue(answer.contains(right), answer);
        List<String> lines = check(exercise, answer.replace(right, wrong));
        assertTrue(lines.stream().anyMatch(line -> line.contains(expected)), lines::toString);
    }

    @Test
    void codeThatDoesNotReturnIsStopped() throws IOException {
        Exercise exercise = Exercise.named("column-parallel");
        Path file = write(exercise, ANSWERS.get("ColumnParallel").replace("return y;",
            "while (tp.rank() == 1 && !Thread.interrupted()) { java.util.concurrent.locks.LockSupport.park(); }\n"
            + "return y;"));
        List<String> lines = exercise.check(file, Duration.ofMillis(600));
        assertTrue(lines.contains("rank 1: has not returned after 0.6 s; it is at ColumnParallel.java:11"),
            lines::toString);
    }

    @Test
    void filesThatCannotBeCheckedAreRefused() throws IOException {
        Exercise exercise = Exercise.named("rank-order");
        String answer = ANSWERS.get("GridOrder");
        assertRefused(exercise, text -> text.replace("int rest = rank;", "int rest = ranks;"),
            "does not compile:\n  GridOrder.java:10: cannot find symbol symbol: variable ranks");
        assertRefused(exercise, text -> text.replace("class GridOrder", "class Other").replace("public final", ""),
            "has no class GridOrder; keep the class's name, and no package");
        assertRefused(exercise, _ -> "", "has no class GridOrder");
        assertEquals(List.of("GridOrder.java: class GridOrder does not implement RankOrder; keep the first lines of "
            + "the copy"), check(exercise, answer.replace(" implements RankOrder", "").replace("@Override", "")));
        assertTrue(assertThrows(UserException.class, () -> exercise.check(directory.resolve("none"))).getMessage()
            .endsWith("'isobar exercise rank-order' makes it"));
        assertThrows(UserException.class, () -> Exercise.named("rank-orders"));
    }

    /** The presets that the check compares with are those of the file. */
    @Test
    void theRatesAreThoseOfThePresets() {
        Path presets = Path.of("..", "config", "ViT.yaml");
        LargeBatchCheck.PRESETS.forEach((batch, rate) -> assertEquals(rate,
            ConfigLoader.load(new ConfigRequest(presets, "bs" + batch + "_opt", Map.of())).training().lr()));
    }

    private void assertRefused(Exercise exercise, Function<String, String> change, String expected)
        throws IOException {
        Path file = write(exercise, change.apply(ANSWERS.get(exercise.source())));
        String message = assertThrows(UserException.class, () -> exercise.check(file)).getMessage();
        assertTrue(message.contains(expected), message);
    }

    private List<String> check(Exercise exercise, String text) throws IOException {
        return exercise.check(write(exercise, text));
    }

    private Path write(Exercise exercise, String text) throws IOException {
        return Files.writeString(directory.resolve(exercise.fileName()), text);
    }
}
