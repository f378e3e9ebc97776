package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Somebody who asks a run to end, or lets it fail, when the run has looked for that a number of times. */
final class Asking implements Interruption {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final int look;
    private final BooleanSupplier then;
    private int looks;
    private int armed;

    private Asking(int look, BooleanSupplier then) {
        this.look = look;
        this.then = then;
    }

    /** Asks from the {@code look}-th look on, from 1. A run looks before each step and each batch of validation. */
    static Asking from(int look) {
        return new Asking(look, () -> true);
    }

    /**
     * Throws at that look, but not before there is {@code checkpoint}: a run that saves nothing at its end, as if it
     * had been killed.
     */
    static Asking failingAt(int look, Path checkpoint) {
        return new Asking(look, () -> {
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (!Files.exists(checkpoint)) {
                assertTrue(System.nanoTime() < deadline, () -> "no " + checkpoint);
                Thread.onSpinWait();
            }
            throw new IllegalStateException("this test fails the run at look " + look);
        });
    }

    @Override
    public void arm() {
        armed++;
    }

    @Override
    public boolean isRequested() {
        looks++;
        return looks >= look && then.getAsBoolean();
    }

    /** How often the run has looked. */
    int looks() {
        return looks;
    }

    /** How often the run has said that it looks from now on. */
    int armed() {
        return armed;
    }
}
