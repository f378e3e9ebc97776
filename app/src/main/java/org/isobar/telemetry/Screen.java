package org.isobar.telemetry;

import java.io.Console;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.util.Map;

/**
 * Where a run is watched: a stream of log lines and, in a terminal, one status line below them that gives way to every
 * log line and comes back after it.
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

    /** Log lines alone, on the given stream. */
    public static Screen plain(OutputStream log) {
        return new Screen(log, null);
    }

    /** Log lines on {@code log}, the status line on {@code terminal}; both may be the same terminal. */
    public static Screen interactive(OutputStream log, PrintStream terminal) {
        return new Screen(log, terminal);
    }

    /**
     * Log lines on the standard error, as Python's logging has it; the status line on the standard output if that is a
     * terminal that knows escape sequences and no batch job runs the program.
     */
    public static Screen standard(Map<String, String> environment) {
        Console console = System.console();
        return console != null && console.isTerminal() && welcomesStatus(environment)
            ? interactive(System.err, System.out) : plain(System.err);
    }

    /** Whether a person may be watching: not under Slurm, and not in a terminal without escape sequences. */
    static boolean welcomesStatus(Map<String, String> environment) {
        String term = environment.getOrDefault("TERM", "dumb");
        return !term.equals("dumb") && environment.keySet().stream().noneMatch(name -> name.startsWith("SLURM_"));
    }

    /** Whether there is a status line; without one, {@link #status} does nothing. */
    public boolean isInteractive() {
        return terminal != null;
    }

    /** Replaces the status line; an empty text takes it away. */
    public synchronized void status(String text) {
        if (terminal != null && !(text.isEmpty() && status.isEmpty())) {
            status = text;
            terminal.print(ERASE + text);
            terminal.flush();
        }
    }

    /** Shows one line that is not the log's. */
    public void say(String line) {
        byte[] bytes = (line + System.lineSeparator()).getBytes(Charset.defaultCharset());
        try {
            print(bytes, 0, bytes.length);
        } catch (IOException unseen) {
            // The log, which shares the stream, says what is to be said of that.
        }
    }

    /** A stream that takes whole log lines, one or more in a call, and keeps the status line below them. */
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
