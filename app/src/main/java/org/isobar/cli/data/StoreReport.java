package org.isobar.cli.data;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.print.FactTable;
import org.isobar.data.Era5Variable;
import org.isobar.data.convert.StoreContents;
import org.isobar.os.ShellWords;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TaskProgress;

/** Prints what a NetCDF file or a Zarr store contains, and what converting it gives. */
final class StoreReport {
    private final ProgramContext context;
    private final PrintWriter out;
    private final FactTable facts;

    StoreReport(ProgramContext context, PrintWriter out) {
        this.context = context;
        this.out = out;
        facts = new FactTable(out);
    }

    /**
     * Prints about a file or store. Reads all values of its fields.
     *
     * @throws org.isobar.fault.UserException if it cannot be read
     */
    void print(Path path) {
        out.println(path);
        try (StoreContents contents = StoreContents.open(path)) {
            table(List.of("variable", "shape", "type", "storage"), contents.arrays());
            facts.heading("Fields of latitudes and longitudes");
            table(List.of("variable", "unit", "levels", "grid", "times"), contents.fields());
            if (!contents.refused().isEmpty()) {
                facts.heading("Fields that cannot be converted");
                table(List.of("variable", "reason"), contents.refused());
            }
            List<List<String>> values;
            try (TaskProgress progress = new TaskProgress(Screen.standard(context.environment()))) {
                values = contents.values(progress::done);
            }
            facts.heading("Values");
            table(List.of("variable", "min", "max", "NaN or missing", "infinite"), values);
            facts.heading("Conversion");
            List<String> channels = contents.channels();
            out.printf("Training reads year files; `%s` makes them.%n",
                ShellWords.join(List.of("data", "convert", "--from=" + path)));
            out.printf("Of the tutorial's %d channels it has %s.%n", Era5Variable.COUNT, channels.isEmpty() ? "none"
                : channels.size() + ": " + String.join(", ", channels));
        }
        out.flush();
    }

    private void table(List<String> header, List<List<String>> rows) {
        List<List<String>> all = new ArrayList<>(List.of(header));
        all.addAll(rows);
        facts.table(all);
    }
}
