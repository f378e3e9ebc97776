package org.isobar.bench.suite;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.isobar.bench.measure.Timing;

/** Measures data loading in rounds of Isobar and h5py. */
final class LoaderParts {
    private static final Duration LIMIT = Duration.ofSeconds(180); // the first part also writes the files

    private final SuiteSetup setup;
    private final PartRunner parts;
    private final Path data;

    /** @param data directory for the files */
    LoaderParts(SuiteSetup setup, PartRunner parts, Path data) {
        this.setup = setup;
        this.parts = parts;
        this.data = data;
    }

    void run() {
        PythonInterpreter python = PythonInterpreter.with("h5py, numpy", setup.python());
        String script = setup.scripts().resolve("loader_h5py.py").toString();
        for (int round = 1; round <= (setup.size() == SuiteSize.WHOLE ? 3 : 1); round++) {
            String isobar = "loader-isobar-" + round;
            List<String> command = new ArrayList<>(setup.isobar());
            command.addAll(List.of("bench", "loader", "--data=" + data, "--json=" + parts.json(isobar)));
            run(isobar, command);
            String h5py = "loader-h5py-" + round;
            if (python.program().isPresent()) {
                run(h5py, new ArrayList<>(List.of(python.program().get(), script, "measure", data.toString(),
                    "--json=" + parts.json(h5py))));
            } else if (round == 1) {
                parts.skip(h5py, python.answer());
            }
        }
    }

    private void run(String name, List<String> command) {
        if (parts.timing() == Timing.REHEARSED) {
            command.add("--rehearse");
        }
        parts.run(new PartRunner.Plan(name, command, LIMIT));
    }
}
