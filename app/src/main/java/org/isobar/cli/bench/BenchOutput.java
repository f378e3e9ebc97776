package org.isobar.cli.bench;

import java.nio.file.Path;

import org.isobar.bench.measure.Timing;
import picocli.CommandLine.Option;

/** Where results of a benchmark go, and whether there are any. */
final class BenchOutput {
    @Option(names = "--json", paramLabel = "FILE", required = true, description = "Where the results go.")
    private Path json;
    @Option(names = "--rehearse",
        description = "Do everything and note no times, as on the simulated machine, where they mean nothing.")
    private boolean rehearse;

    Path json() {
        return json;
    }

    Timing timing() {
        return rehearse ? Timing.REHEARSED : Timing.MEASURED;
    }
}
