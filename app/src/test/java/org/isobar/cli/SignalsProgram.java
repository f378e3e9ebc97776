package org.isobar.cli;

/**
 * A process that listens to signals: says {@code ready} and ends with 75 so long after it was asked to as its argument
 * says, in ms. Without an argument it does not listen yet.
 */
final class SignalsProgram {
    private SignalsProgram() { }

    public static void main(String[] arguments) throws InterruptedException {
        Signals signals = new Signals(System.out::println);
        if (arguments.length > 0) {
            signals.arm();
        }
        System.out.println("ready");
        while (!signals.isRequested()) {
            Thread.sleep(10);
        }
        Thread.sleep(Long.parseLong(arguments[0]));
        System.exit(75);
    }
}
