package org.isobar.telemetry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LoggingException;
import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.ErrorHandler;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.FileAppender;
import org.apache.logging.log4j.core.appender.OutputStreamAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilder;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;
import org.apache.logging.log4j.core.config.builder.impl.BuiltConfiguration;
import org.apache.logging.log4j.core.layout.PatternLayout;
import org.isobar.fault.IoReason;
import org.isobar.fault.UserException;

/**
 * The log of one run in the format of Python's logging module as the tutorial sets it up, on the screen and, once the
 * run's directory is known, in a file too. Each log has a Log4j context of its own, so that runs can share a JVM.
 *
 * <p>A line that cannot be written to the file is an error and not a silence: it shows on the screen, the file is given
 * up, and a {@link UserException} tells why.
 */
public final class RunLog implements AutoCloseable {
    private static final String FORMAT =
        "%d{yyyy-MM-dd HH:mm:ss,SSS} - root - %level{WARN=WARNING, FATAL=CRITICAL} - %m%n";

    private final LoggerContext context = new LoggerContext("run");
    private final Logger logger;
    private Path file;

    /** A log that shows its lines on the given screen. */
    public RunLog(Screen screen) {
        ConfigurationBuilder<BuiltConfiguration> builder = ConfigurationBuilderFactory.newConfigurationBuilder();
        builder.setStatusLevel(Level.OFF).setShutdownHook("disable").add(builder.newRootLogger(Level.INFO));
        context.start(builder.build(false));
        logger = context.getRootLogger();
        add(OutputStreamAppender.newBuilder().setName("screen").setTarget(screen.lines()).setIgnoreExceptions(false)
            .setLayout(layout()).build());
    }

    /**
     * Also writes all following lines to {@code path}: at the end of the file if there is one, as Python does.
     *
     * @throws UserException if the file cannot be written
     */
    public void openFile(Path path) {
        try {
            Files.createDirectories(path.toAbsolutePath().getParent());
            Files.newOutputStream(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND).close();
        } catch (IOException e) {
            throw unwritable(path, e);
        }
        file = path;
        add(FileAppender.newBuilder().setName("file").withFileName(path.toString()).setIgnoreExceptions(false)
            .setLayout(layout()).setConfiguration(context.getConfiguration()).build());
    }

    /** A line of level INFO. */
    public void info(String message) {
        log(Level.INFO, message, null);
    }

    /** A line of level WARNING. */
    public void warn(String message) {
        log(Level.WARN, message, null);
    }

    /** A line of level ERROR. */
    public void error(String message) {
        log(Level.ERROR, message, null);
    }

    /** A line of level ERROR and the stack trace of what nobody expected. */
    public void error(String message, Throwable unexpected) {
        log(Level.ERROR, message, unexpected);
    }

    /** Closes the file; the log takes no more lines. */
    @Override
    public void close() {
        context.stop();
    }

    private void log(Level level, String message, Throwable thrown) {
        try {
            logger.log(level, message, thrown);
        } catch (LoggingException e) {
            throw giveUp(e);
        }
    }

    /** Later lines, the report of this very failure among them, must still reach the screen. */
    private UserException giveUp(LoggingException failure) {
        Path lost = file;
        if (lost == null) {
            return unwritable(Path.of("the screen"), cause(failure));
        }
        file = null;
        Appender appender = context.getConfiguration().getAppenders().get("file");
        logger.removeAppender(appender);
        appender.stop();
        return unwritable(lost, cause(failure));
    }

    private static IOException cause(Throwable failure) {
        return failure instanceof IOException io ? io : failure.getCause() == null ? new IOException(failure)
            : cause(failure.getCause());
    }

    private static UserException unwritable(Path path, IOException e) {
        return new UserException("cannot write log " + path + ": " + IoReason.of(e)
            + "; free space, mend the permissions, or give --expdir another directory", e);
    }

    private void add(AbstractAppender appender) {
        appender.setHandler(new Rethrow());
        appender.start();
        Configuration configuration = context.getConfiguration();
        configuration.addAppender(appender);
        configuration.getRootLogger().addAppender(appender, null, null);
        context.updateLoggers();
    }

    private static PatternLayout layout() {
        return PatternLayout.newBuilder().withPattern(FORMAT).build();
    }

    /** Says nothing: with {@code ignoreExceptions} off, the exception itself reaches {@link #log}. */
    private static final class Rethrow implements ErrorHandler {
        @Override
        public void error(String message) { }

        @Override
        public void error(String message, Throwable exception) { }

        @Override
        public void error(String message, LogEvent event, Throwable exception) { }
    }
}
