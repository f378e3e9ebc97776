package org.isobar.cli.bench;

import java.nio.file.Path;

import org.isobar.bench.measure.Timing;
import picocli.CommandLine.Option;

/** The options of a benchmark that name its result file and turn timing off. */
final class BenchOutput {
    @Option(names = "--json", paramLabel = "FILE", required = true, description = "File to write the results to.")
    private Path json;
    @Option(names = "--rehearse",
        description =
        "Run everything without recording times, such as on the simulated machine, where times mean nothing.")
    private boolean rehearse;

    Path json() {
        return json;
    }

    Timing timing() {
        return rehearse ? Timing.REHEARSED : Timing.MEASURED;
    }
}
