package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.isobar.config.yaml.YamlText;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.plan.machine.Quantity;

/** Writes a machine file that {@link org.isobar.plan.machine.MachineFile} reads. */
public final class MachineFileWriter {
    private static final double MICRO = 1e6;

    private MachineFileWriter() { }

    /**
     * The text of a machine file.
     *
     * @param machine     the machine
     * @param collectives measurements of its collectives, which replace those of the machine
     */
    public static String text(Machine machine, List<CollectiveTable.Row> collectives) {
        Map<String, Object> keys = new LinkedHashMap<>();
        keys.put("description", machine.description());
        keys.put("device", machine.device());
        keys.put("kind", machine.kind().name().toLowerCase(Locale.ROOT));
        machine.numbers().entrySet().stream().sorted(Map.Entry.comparingByKey())
            .forEach(entry -> keys.put(entry.getKey(), list(entry.getValue())));
        keys.put("operations", machine.operations().stream().map(MachineFileWriter::cells).toList());
        List<Object> shared = new ArrayList<>();
        machine.shared().forEach((processes, rows) -> rows.forEach(row -> {
            List<Object> cells = new ArrayList<>(List.of(processes));
            cells.addAll(cells(row));
            shared.add(cells);
        }));
        if (!shared.isEmpty()) {
            keys.put("shared_operations", shared);
        }
        if (!collectives.isEmpty()) {
            keys.put("collectives", collectives.stream().map(row -> List.of(row.operation(), row.nodes(),
                row.perNode(), row.bytes(), MICRO * row.seconds())).toList());
        }
        return YamlText.of(Map.of(machine.name(), keys));
    }

    private static List<Object> cells(MeasuredOperation row) {
        return List.of(row.name(), row.type(), row.flops(), row.bytes(), MICRO * row.seconds());
    }

    private static List<Object> list(Quantity number) {
        return List.of(number.value(), number.source().name().toLowerCase(Locale.ROOT), number.date(), number.run());
    }
}
