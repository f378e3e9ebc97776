package org.isobar.telemetry;

import java.io.Console;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.util.Map;

/**
 * Output of a run for its user: a stream of log lines and, in a terminal, a status line below them. The status line is
 * erased before each log line and redrawn after it.
 */
public final class Screen {
    private static final String ERASE = "\r\033[K";

    private final OutputStream log;
    private final PrintStream terminal;
    private String status = "";

    private Screen(OutputStream log, PrintStream terminal) {
        this.log = log;
        this.terminal = terminal;
    }

    /** Creates a screen without a status line, which writes log lines to the given stream. */
    public static Screen plain(OutputStream log) {
        return new Screen(log, null);
    }

    /** Creates a screen that writes log lines to {@code log} and the status line to {@code terminal}. */
    public static Screen interactive(OutputStream log, PrintStream terminal) {
        return new Screen(log, terminal);
    }

    /**
     * Creates the screen of this process. Log lines go to standard error, as with Python's logging. The status line
     * goes to standard output if that is a terminal that supports escape sequences and the program is not in a batch
     * job.
     */
    public static Screen standard(Map<String, String> environment) {
        Console console = System.console();
        return console != null && console.isTerminal() && supportsStatusLine(environment)
            ? interactive(System.err, System.out) : plain(System.err);
    }

    /** Whether a status line makes sense: not under Slurm, and not in a terminal without escape sequences. */
    static boolean supportsStatusLine(Map<String, String> environment) {
        String term = environment.getOrDefault("TERM", "dumb");
        return !term.equals("dumb") && environment.keySet().stream().noneMatch(name -> name.startsWith("SLURM_"));
    }

    /** Whether the screen has a status line; otherwise {@link #status} does nothing. */
    public boolean isInteractive() {
        return terminal != null;
    }

    /** Replaces the status line; an empty text clears it. */
    public synchronized void status(String text) {
        if (terminal != null && !(text.isEmpty() && status.isEmpty())) {
            status = text;
            terminal.print(ERASE + text);
            terminal.flush();
        }
    }

    /** Prints one line that is not part of the log. */
    public void printLine(String line) {
        byte[] bytes = (line + System.lineSeparator()).getBytes(Charset.defaultCharset());
        try {
            print(bytes, 0, bytes.length);
        } catch (IOException failure) {
            // The log, which shares the stream, reports the failure with its next line.
        }
    }

    /** A stream for complete log lines, one or more in each call. Keeps the status line below them. */
    OutputStream lines() {
        return new OutputStream() {
            @Override
            public void write(int oneByte) throws IOException {
                write(new byte[] {(byte) oneByte}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                print(bytes, offset, length);
            }
        };
    }

    private synchronized void print(byte[] bytes, int offset, int length) throws IOException {
        String interrupted = status;
        status("");
        log.write(bytes, offset, length);
        log.flush();
        if (length > 0 && bytes[offset + length - 1] == '\n') {
            status(interrupted);
        }
    }
}
