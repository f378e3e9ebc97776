package org.isobar.bench.pytorch;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;

import org.isobar.bench.Timing;
import org.isobar.fault.UserException;

/**
 * What is asked for.
 *
 * @param like what {@code isobar bench step} wrote
 * @param json where the same is written of PyTorch
 */
record Arguments(Path like, Path json, Timing timing) {
    private static final String USAGE = "; usage: pytorch.sh step --like ISOBAR.json --json FILE [--rehearse]";

    /** @throws UserException if they are not as the usage has them */
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
                default -> throw new UserException(option + " is unknown" + USAGE);
            }
        }
        if (like == null || json == null) {
            throw new UserException("--like and --json are needed" + USAGE);
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
