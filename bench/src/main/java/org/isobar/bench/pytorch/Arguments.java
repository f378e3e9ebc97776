package org.isobar.bench.pytorch;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;

import org.isobar.bench.measure.Timing;
import org.isobar.fault.UserException;

/**
 * Command-line arguments.
 *
 * @param like result of {@code isobar bench step}, with the settings of the step
 * @param json file for the result of PyTorch
 */
record Arguments(Path like, Path json, Timing timing) {
    private static final String USAGE = "; usage: pytorch.sh step --like ISOBAR.json --json FILE [--rehearse]";

    /**
     * Parses the arguments.
     *
     * @throws UserException if they do not match the usage
     */
    static Arguments parse(String... args) {
        Iterator<String> words = Arrays.asList(args).iterator();
        if (!words.hasNext() || !words.next().equals("step")) {
            throw new UserException("the first argument must be step" + USAGE);
        }
        Path like = null;
        Path json = null;
        Timing timing = Timing.MEASURED;
        while (words.hasNext()) {
            String option = words.next();
            switch (option) {
                case "--like" -> like = file(option, words);
                case "--json" -> json = file(option, words);
                case "--rehearse" -> timing = Timing.REHEARSED;
                default -> throw new UserException("unknown option " + option + USAGE);
            }
        }
        if (like == null || json == null) {
            throw new UserException("--like and --json are required" + USAGE);
        }
        return new Arguments(like, json, timing);
    }

    private static Path file(String option, Iterator<String> words) {
        if (!words.hasNext()) {
            throw new UserException(option + " needs a file" + USAGE);
        }
        return Path.of(words.next());
    }
}
