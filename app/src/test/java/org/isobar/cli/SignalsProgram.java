package org.isobar.cli;

/**
 * A process that listens to signals: says {@code ready} and ends with 75 a moment after it was asked to. With an
 * argument it does not listen yet.
 */
final class SignalsProgram {
    private static final int MOMENT = 1_500;

    private SignalsProgram() { }

    public static void main(String[] arguments) throws InterruptedException {
        Signals signals = new Signals(System.out::println);
        if (arguments.length == 0) {
            signals.arm();
        }
        System.out.println("ready");
        while (!signals.isRequested()) {
            Thread.sleep(10);
        }
        Thread.sleep(MOMENT);
        System.exit(75);
    }
}
