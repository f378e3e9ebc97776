package org.isobar.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The lines {@code step} of a run's metrics as columns of a page's data. Neighbouring lines are merged until there are
 * few enough: losses are averaged over their steps, times are added.
 */
final class StepSeries {
    private static final int DIGITS = 7;

    private final List<Point> points;

    /** Some consecutive steps; null for a loss that no step has. */
    private record Point(double step, double time, double steps, Double loss, double rate, double seconds,
        Map<String, Double> phases) {

        static Point of(JsonNode line, double time) {
            Map<String, Double> phases = new LinkedHashMap<>();
            line.path("phases").properties().forEach(phase -> phases.put(phase.getKey(), phase.getValue().asDouble()));
            return new Point(line.path("step").asDouble(), time, line.path("steps").asDouble(1),
                line.path("loss").isNumber() ? line.path("loss").asDouble() : null,
                line.path("learning_rate").asDouble(), line.path("seconds").asDouble(), phases);
        }

        Point and(Point next) {
            Map<String, Double> sum = new LinkedHashMap<>(phases);
            next.phases.forEach((phase, value) -> sum.merge(phase, value, Double::sum));
            Double mean = loss == null ? next.loss : next.loss == null ? loss
                : Double.valueOf((loss * steps + next.loss * next.steps) / (steps + next.steps));
            return new Point(next.step, next.time, steps + next.steps, mean, next.rate, seconds + next.seconds, sum);
        }
    }

    private StepSeries(List<Point> points) {
        this.points = points;
    }

    /** The series of lines with their times, in seconds; of at most {@code most} points. */
    static StepSeries of(List<JsonNode> lines, List<Double> times, int most) {
        List<Point> points = new ArrayList<>();
        int merged = Math.max(1, Math.ceilDiv(lines.size(), most));
        for (int i = 0; i < lines.size(); i++) {
            Point point = Point.of(lines.get(i), times.get(i));
            if (i % merged == 0) {
                points.add(point);
            } else {
                points.add(points.removeLast().and(point));
            }
        }
        return new StepSeries(points);
    }

    /** The columns by name; those of the phases in an object. */
    ObjectNode columns() {
        ObjectNode columns = JsonNodeFactory.instance.objectNode();
        ObjectNode phases = JsonNodeFactory.instance.objectNode();
        for (Point point : points) {
            add(columns, "step", point.step);
            add(columns, "time", point.time);
            add(columns, "steps", point.steps);
            add(columns, "loss", point.loss);
            add(columns, "learning_rate", point.rate);
            add(columns, "seconds", point.seconds);
            point.phases.forEach((phase, seconds) -> add(phases, phase, seconds));
        }
        columns.set("phases", phases);
        return columns;
    }

    private static void add(ObjectNode columns, String name, Double value) {
        ArrayNode column = columns.withArray(name);
        if (value == null || !Double.isFinite(value)) {
            column.addNull();
        } else if (value == Math.rint(value) && Math.abs(value) < Integer.MAX_VALUE) {
            column.add(value.longValue());
        } else {
            column.add(new BigDecimal(value, new MathContext(DIGITS)).doubleValue());
        }
    }
}
