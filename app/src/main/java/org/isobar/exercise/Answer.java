package org.isobar.exercise;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What the reader has written for an exercise, compiled.
 *
 * @param file  the source
 * @param type  its class
 * @param limit longest time that a call may take
 */
record Answer(Path file, Class<?> type, Duration limit) {

    /**
     * A new object of the class.
     *
     * @throws WrongAnswerException if the class does not implement {@code api}, or cannot be created without arguments
     */
    <T> T as(Class<T> api) {
        if (!api.isAssignableFrom(type)) {
            throw new WrongAnswerException(fileName() + ": class " + type.getSimpleName() + " does not implement "
                + api.getSimpleName() + "; keep the first lines of the copy");
        }
        try {
            return api.cast(type.getConstructor().newInstance());
        } catch (InvocationTargetException thrown) {
            throw new WrongAnswerException("the constructor " + threw(thrown.getCause()));
        } catch (ReflectiveOperationException impossible) {
            throw new WrongAnswerException(fileName() + ": class " + type.getSimpleName()
                + " must be public, not abstract, and have a constructor without arguments");
        }
    }

    /**
     * Calls a method of the reader's.
     *
     * @param method its name, for messages
     * @throws WrongAnswerException if it throws or returns null
     */
    <T> T call(String method, Supplier<T> call) {
        T result = attempt(method, call);
        if (result == null) {
            throw new WrongAnswerException(method + " returned null");
        }
        return result;
    }

    /** Calls a method without a result. */
    void run(String method, Runnable call) {
        attempt(method, () -> {
            call.run();
            return null;
        });
    }

    private <T> T attempt(String method, Supplier<T> call) {
        try {
            return call.get();
        } catch (RuntimeException | Error failure) {
            throw new WrongAnswerException(method + " " + threw(failure));
        }
    }

    /** The end of a sentence about what the reader's code threw. */
    private String threw(Throwable failure) {
        return "threw " + failure.getClass().getSimpleName()
            + place(failure.getStackTrace()).map(place -> " at " + place).orElse("")
            + (failure.getMessage() == null ? "" : ": " + failure.getMessage());
    }

    /** File and line of the innermost call in the reader's file. */
    Optional<String> place(StackTraceElement[] stack) {
        return Arrays.stream(stack).filter(frame -> frame.getClassName().split("\\$")[0].equals(type.getName()))
            .findFirst().map(frame -> fileName() + ":" + frame.getLineNumber());
    }

    private String fileName() {
        return file.getFileName().toString();
    }
}
