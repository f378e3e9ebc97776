package org.isobar.exercise;

import java.util.List;

/** The reader's code does not do what the exercise asks; one line for each thing that is wrong. */
final class WrongAnswerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String[] lines;

    WrongAnswerException(List<String> lines) {
        super(String.join("; ", lines));
        this.lines = lines.toArray(String[]::new);
    }

    WrongAnswerException(String line) {
        this(List.of(line));
    }

    /** What is wrong. */
    List<String> lines() {
        return List.of(lines);
    }
}
