package org.isobar.telemetry;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LoggingException;
import org.apache.logging.log4j.core.ErrorHandler;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.AppenderLoggingException;
import org.apache.logging.log4j.core.appender.OutputStreamAppender;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilder;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;
import org.apache.logging.log4j.core.config.builder.impl.BuiltConfiguration;
import org.apache.logging.log4j.core.layout.PatternLayout;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/**
 * The log of one run, in the format of Python's logging module as the tutorial configures it. It is written to the
 * screen and, after {@link #openFile}, also to a file. Each log has its own Log4j context, so that several runs can
 * share a JVM.
 *
 * <p>If a line cannot be written to the file, the file is closed and a {@link UserException} gives the reason. Later
 * lines go to the screen only.
 */
public final class RunLog implements AutoCloseable {
    private static final String FORMAT =
        "%d{yyyy-MM-dd HH:mm:ss,SSS} - root - %level{WARN=WARNING, FATAL=CRITICAL} - %m%n";

    private final LoggerContext context = new LoggerContext("run");
    private final Logger logger;
    private LogFile file; // null before it is opened and after a failure
    private Path path;
    private long opened; // length of the file before the lines of this log

    /** Which lines a log writes. */
    public enum Verbosity {
        /** All lines. */
        ALL,
        /** Errors only, as on all ranks but rank 0. */
        ERRORS
    }

    /** Creates a log that writes all lines to the given screen. */
    public RunLog(Screen screen) {
        this(screen, Verbosity.ALL);
    }

    /** Creates a log that writes to the given screen. */
    public RunLog(Screen screen, Verbosity verbosity) {
        ConfigurationBuilder<BuiltConfiguration> builder = ConfigurationBuilderFactory.newConfigurationBuilder();
        Level level = verbosity == Verbosity.ERRORS ? Level.ERROR : Level.INFO;
        builder.setStatusLevel(Level.OFF).setShutdownHook("disable").add(builder.newRootLogger(level));
        context.start(builder.build(false));
        logger = context.getRootLogger();
        attach(OutputStreamAppender.newBuilder().setName("screen").setTarget(screen.lines()).setIgnoreExceptions(false)
            .setLayout(layout()).build());
    }

    /**
     * Also writes all following lines to {@code path}. Appends to an existing file, as Python does. If its last line is
     * incomplete because its writer was killed, a line break is added.
     *
     * @throws UserException if the file cannot be written, or is a symbolic link or a pipe
     */
    public void openFile(Path path) {
        openFile(path, Long.MAX_VALUE);
    }

    /**
     * Also writes all following lines to {@code path}, after truncating the file to its first {@code keep} bytes: those
     * that an earlier run had written when it saved the checkpoint that this one resumes from. A shorter file is not
     * truncated.
     *
     * @throws UserException if the file cannot be written, or is a symbolic link or a pipe
     */
    public synchronized void openFile(Path path, long keep) {
        try { // Log4j would follow links, and does not report why a file cannot be opened
            opened = prepare(path, keep);
            file = new LogFile(Files.newOutputStream(path, StandardOpenOption.APPEND, LinkOption.NOFOLLOW_LINKS));
        } catch (IOException e) {
            throw unwritable(path.toString(), e);
        }
        this.path = path;
        attach(file);
    }

    /**
     * Removes what the file had before it was opened, except its first {@code keep} bytes. The lines of this log stay.
     *
     * @throws UserException if the file cannot be written
     */
    public synchronized void cut(long keep) {
        if (file == null || opened <= keep) {
            return;
        }
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS)) {
            synchronized (file) { // no line is written meanwhile
                ByteBuffer own = ByteBuffer.allocate(Math.toIntExact(channel.size() - opened));
                while (own.hasRemaining() && channel.read(own, opened + own.position()) >= 0) {
                    continue;
                }
                channel.truncate(keep);
                AtomicFile.writeFully(channel.position(keep), own.flip());
            }
            opened = keep;
        } catch (IOException e) {
            throw unwritable(path.toString(), e);
        }
    }

    /**
     * Size of the file in bytes, with all lines so far, even if it is closed or writing to it failed; 0 if no file was
     * opened.
     *
     * @throws UserException if the size cannot be read
     */
    public synchronized long bytes() {
        try {
            return path == null ? 0 : Files.size(path); // lines are not buffered
        } catch (IOException e) {
            throw unwritable(path.toString(), e);
        }
    }

    /** Logs a line of level INFO. */
    public void info(String message) {
        log(Level.INFO, message, null);
    }

    /** Logs a line of level WARNING. */
    public void warn(String message) {
        log(Level.WARN, message, null);
    }

    /** Logs a line of level ERROR. */
    public void error(String message) {
        log(Level.ERROR, message, null);
    }

    /** Logs a line of level ERROR with the stack trace of an unexpected exception. */
    public void error(String message, Throwable unexpected) {
        log(Level.ERROR, message, unexpected);
    }

    /** Closes the file. No lines may be logged afterwards. */
    @Override
    public synchronized void close() {
        detachFile();
        context.stop();
    }

    /** Returns the length of the file. */
    private static long prepare(Path path, long keep) throws IOException {
        Files.createDirectories(path.toAbsolutePath().getParent());
        RegularFile.refusePipe(path);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            if (channel.size() > keep) {
                channel.truncate(keep);
            }
            long end = channel.size();
            ByteBuffer last = ByteBuffer.allocate(1);
            if (end > 0 && channel.read(last, end - 1) > 0 && last.get(0) != '\n') {
                AtomicFile.writeFully(channel.position(end), ByteBuffer.wrap(new byte[] {'\n'}));
            }
            return channel.size();
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
        String where = file == null ? "on the screen" : path.toString();
        detachFile(); // later lines, including the report of this failure, must still reach the screen
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

    /** Writes each line to an open file. Log4j's own appender opens files by name and follows links. */
    private static final class LogFile extends AbstractAppender {
        private final OutputStream stream;

        LogFile(OutputStream stream) {
            super("file", null, layout(), false, Property.EMPTY_ARRAY);
            this.stream = stream;
        }

        @Override
        public synchronized void append(LogEvent event) {
            try {
                stream.write(getLayout().toByteArray(event));
            } catch (IOException e) {
                throw new AppenderLoggingException(e);
            }
        }

        @Override
        public synchronized void stop() {
            super.stop();
            try {
                stream.close();
            } catch (IOException e) {
                throw new AppenderLoggingException(e);
            }
        }
    }

    /** Reports nothing: with {@code ignoreExceptions} off, the exception itself reaches {@link #log}. */
    private static final class Rethrow implements ErrorHandler {
        @Override
        public void error(String message) { }

        @Override
        public void error(String message, Throwable exception) { }

        @Override
        public void error(String message, LogEvent event, Throwable exception) { }
    }
}
