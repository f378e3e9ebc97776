package org.isobar.train;

import java.util.function.Consumer;

import org.isobar.config.RunConfig;

/** placeholder */
final class DemoData {
    private DemoData() { }

    static void makeIfMissing(RunConfig config, Consumer<String> log) {
    }

    static String noiseFloor(RunConfig config) {
        return "";
    }
}
