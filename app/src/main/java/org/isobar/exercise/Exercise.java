package org.isobar.exercise;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.TemporaryDirectory;

/**
 * An exercise: a Java class with gaps, and a check of what the reader puts into them.
 *
 * @param name    its name on the command line
 * @param source  name of the class, and of its file without {@code .java}
 * @param summary what the reader does, in one line
 * @param correct what is right when the check finds nothing
 * @param check   throws {@link WrongAnswerException}
 */
public record Exercise(String name, String source, String summary, String correct, Consumer<Answer> check) {
    /** All exercises, in the order of the tutorial. */
    public static final List<Exercise> ALL = List.of(
        new Exercise("large-batch", "LargeBatch", "learning rates for a batch eight times as large: linear rule, "
            + "square-root rule, warm-up", "the rates are those of presets bs16_opt to bs2048_opt, and the warm-up is "
            + "that of training", LargeBatchCheck::run),
        new Exercise("overlap", "Overlap", "start the all-reduce of a bucket of gradients while backward goes on",
            "on both ranks all gradients are means, each sum starts with its bucket and is awaited in finish",
            OverlapCheck::run),
        new Exercise("rank-order", "GridOrder", "coordinates of ranks from an order such as tp-cp-dp",
            "all ranks have their places in five orders", GridOrderCheck::run),
        new Exercise("column-parallel", "ColumnParallel", "the communication of a column-parallel and a row-parallel "
            + "layer, forward and backward", "output and gradients on both ranks are those of the serial layers",
            ColumnParallelCheck::run));
    private static final Duration LIMIT = Duration.ofSeconds(10);

    /**
     * The exercise of a name.
     *
     * @throws UserException if there is none
     */
    public static Exercise named(String name) {
        return ALL.stream().filter(each -> each.name.equals(name)).findFirst().orElseThrow(() -> new UserException(
            "there is no exercise '" + name + "'; the exercises are "
                + String.join(", ", ALL.stream().map(Exercise::name).toList())));
    }

    /** Name of the file that the reader edits. */
    public String fileName() {
        return source + ".java";
    }

    /** The class with its gaps. */
    public String template() {
        try (InputStream text = Exercise.class.getResourceAsStream(fileName())) {
            return new String(text.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /**
     * Writes the class with its gaps into {@code directory}; returns the file.
     *
     * @throws UserException if the file exists, or cannot be written
     */
    public Path copy(Path directory) {
        Path file = directory.resolve(fileName());
        if (Files.exists(file)) {
            throw new UserException(file + " exists, and is not replaced: edit it, move it away, or name another "
                + "directory with --out");
        }
        new AtomicFile("exercise", file, "--out").write(template().getBytes(StandardCharsets.UTF_8));
        return file;
    }

    /**
     * Compiles the reader's file and checks what it does; returns what is wrong, line by line.
     *
     * @param place the file, or the directory that it is in
     * @throws UserException if there is no such file, it does not compile, or the Java that runs this has no compiler
     */
    public List<String> check(Path place) {
        return check(place, LIMIT);
    }

    /** Checks with another limit for the reader's code to return. */
    List<String> check(Path place, Duration limit) {
        Path file = Files.isDirectory(place) ? place.resolve(fileName()) : place;
        if (!Files.isRegularFile(file)) {
            throw new UserException("there is no file " + file + "; 'isobar exercise " + name + "' makes it");
        }
        if (!file.getFileName().toString().equals(fileName())) {
            throw new UserException(file + ": the file of exercise " + name + " is called " + fileName());
        }
        if (ModuleLayer.boot().findModule("jdk.compiler").isEmpty()) {
            throw new UserException("the Java that runs this, " + System.getProperty("java.home")
                + ", has no compiler; check exercises with a JDK, from a source tree");
        }
        try (TemporaryDirectory classes = new TemporaryDirectory("isobar-exercise")) {
            check.accept(new Answer(file, SourceCompiler.compile(file, classes.directory()), limit));
            return List.of();
        } catch (WrongAnswerException wrong) {
            return wrong.lines();
        } catch (IOException failure) {
            throw new UserException(file + " cannot be compiled: " + failure.getMessage(), failure);
        }
    }
}
