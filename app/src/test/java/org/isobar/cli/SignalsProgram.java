package org.isobar.cli;

import java.io.IOException;

/**
 * A process that says {@code ready} and, if it has an argument, listens to signals: having been asked to end, it saves
 * until its standard input ends, and ends with 75.
 */
final class SignalsProgram {
    private SignalsProgram() { }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Signals signals = new Signals(System.out::println);
        if (arguments.length > 0) {
            signals.arm();
        }
        System.out.println("ready");
        while (!signals.isRequested()) {
            Thread.sleep(10);
        }
        System.in.readAllBytes();
        System.exit(75);
    }
}
