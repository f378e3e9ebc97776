package org.isobar.telemetry;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LoggingException;
import org.apache.logging.log4j.core.ErrorHandler;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.FileAppender;
import org.apache.logging.log4j.core.appender.OutputStreamAppender;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilder;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;
import org.apache.logging.log4j.core.config.builder.impl.BuiltConfiguration;
import org.apache.logging.log4j.core.layout.PatternLayout;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

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
    private FileAppender file; // null before it is opened, and when it is given up
    private Path path;

    /** Which lines a log takes. */
    public enum Audience {
        /** All of them. */
        EVERYTHING,
        /** Errors alone: what all ranks but one have to say. */
        ERRORS
    }

    /** A log that shows its lines on the given screen. */
    public RunLog(Screen screen) {
        this(screen, Audience.EVERYTHING);
    }

    /** A log that shows the lines for {@code audience} on the given screen. */
    public RunLog(Screen screen, Audience audience) {
        ConfigurationBuilder<BuiltConfiguration> builder = ConfigurationBuilderFactory.newConfigurationBuilder();
        Level level = audience == Audience.ERRORS ? Level.ERROR : Level.INFO;
        builder.setStatusLevel(Level.OFF).setShutdownHook("disable").add(builder.newRootLogger(level));
        context.start(builder.build(false));
        logger = context.getRootLogger();
        attach(OutputStreamAppender.newBuilder().setName("screen").setTarget(screen.lines()).setIgnoreExceptions(false)
            .setLayout(layout()).build());
    }

    /**
     * Also writes all following lines to {@code path}: at the end of the file if there is one, as Python does. A line
     * that was cut short there, by the end of its writer, is ended.
     *
     * @throws UserException if the file cannot be written
     */
    public void openFile(Path path) {
        openFile(path, Long.MAX_VALUE);
    }

    /**
     * Also writes all following lines to {@code path}, after the first {@code keep} bytes of what is there: those that
     * an earlier run had written when it made the checkpoint that this one goes on from. Nothing is cut off a shorter
     * file.
     *
     * @throws UserException if the file cannot be written
     */
    public synchronized void openFile(Path path, long keep) {
        try { // Log4j says that a file cannot be opened, but not why
            prepare(path, keep);
        } catch (IOException e) {
            throw unwritable(path.toString(), e);
        }
        this.path = path;
        file = FileAppender.newBuilder().setName("file").withFileName(path.toString()).setIgnoreExceptions(false)
            .setLayout(layout()).setConfiguration(context.getConfiguration()).build();
        attach(file);
    }

    /**
     * How long the file is, with all lines so far, even if it was given up or closed; 0 if none was opened.
     *
     * @throws UserException if the file is out of reach
     */
    public synchronized long bytes() {
        try {
            return path == null ? 0 : Files.size(path); // each line was written at once
        } catch (IOException e) {
            throw unwritable(path.toString(), e);
        }
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
    public synchronized void close() {
        detachFile();
        context.stop();
    }

    private static void prepare(Path path, long keep) throws IOException {
        Files.createDirectories(path.toAbsolutePath().getParent());
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            if (channel.size() > keep) {
                channel.truncate(keep);
            }
            long end = channel.size();
            ByteBuffer last = ByteBuffer.allocate(1);
            if (end > 0 && channel.read(last, end - 1) > 0 && last.get(0) != '\n') {
                AtomicFile.writeFully(channel.position(end), ByteBuffer.wrap(new byte[] {'\n'}));
            }
        }
    }

    private void log(Level level, String message, Throwable thrown) {
        try {
            logger.log(level, message, thrown);
        } catch (LoggingException e) {
            throw giveUp(e);
        }
    }

    private synchronized UserException giveUp(LoggingException failure) {
        String where = file == null ? "on the screen" : file.getFileName();
        detachFile(); // later lines, the report of this very failure among them, must still reach the screen
        return unwritable(where, cause(failure));
    }

    private void detachFile() {
        if (file != null) {
            logger.removeAppender(file);
            file.stop();
            file = null;
        }
    }

    private static IOException cause(LoggingException failure) {
        Throwable cause = failure;
        while (!(cause instanceof IOException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause instanceof IOException io ? io : new IOException(cause);
    }

    private static UserException unwritable(String where, IOException e) {
        return FileFault.unwritable("log " + where, "--expdir", e);
    }

    private void attach(AbstractAppender appender) {
        appender.setHandler(new Rethrow());
        appender.start();
        logger.addAppender(appender);
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
