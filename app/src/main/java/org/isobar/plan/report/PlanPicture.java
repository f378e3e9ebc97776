package org.isobar.plan.report;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.isobar.plan.Plan;
import org.isobar.plan.PlannedLayout;
import org.isobar.plan.simulate.Timeline;
import org.isobar.scores.PlotAxis;
import org.isobar.scores.SvgCanvas;

/**
 * A plan as an SVG picture of three parts: the time of a sample by part of the step for the best layouts, memory
 * against speed of all layouts, and the timeline of one step of the best.
 */
public final class PlanPicture {
    private static final int MOST_BARS = 12;
    private static final double WIDTH = 900;
    private static final double LEFT = 210;
    private static final double BAR = 18;
    private static final double PANEL = 260;
    private static final double RIGHT = 30;
    private static final double GIB = 1L << 30;
    private static final String MARK = "#d55e00";
    private static final Map<String, String> COLORS = colors();

    private final Plan plan;
    private final SvgCanvas canvas = new SvgCanvas();
    private double top = 30;

    private PlanPicture(Plan plan) {
        this.plan = plan;
    }

    /** The picture of a plan. */
    public static String of(Plan plan) {
        return new PlanPicture(plan).draw();
    }

    private String draw() {
        canvas.text(10, top, SvgCanvas.Anchor.START, "Isobar's plan: " + plan.request().machine().name() + ", preset "
            + plan.request().config().name() + ", " + plan.request().ranks() + " ranks"
            + (plan.unvalidated() ? " (" + PlanText.UNVALIDATED + ")" : ""));
        bars();
        memory();
        timeline();
        return canvas.svg("Plan of a run", WIDTH, top + 20);
    }

    private static Map<String, String> colors() {
        Map<String, String> colors = new LinkedHashMap<>();
        colors.put("products", "#0072b2");
        colors.put("attention", "#d55e00");
        colors.put("memory-bound", "#009e73");
        colors.put("launch", "#999999");
        colors.put("exposed tp", "#cc79a7");
        colors.put("exposed cp", "#b8860b");
        colors.put("exposed dp", "#8a2be2");
        colors.put("exposed all", "#705040");
        colors.put("loader", "#3090c0");
        return Collections.unmodifiableMap(colors);
    }

    private List<PlannedLayout> best() {
        Set<String> seen = new HashSet<>();
        return plan.layouts().stream().filter(PlannedLayout::fits).filter(each -> seen.add(each.layout().toString()))
            .limit(MOST_BARS).toList();
    }

    private void bars() {
        List<PlannedLayout> best = best();
        double longest = best.stream().mapToDouble(PlannedLayout::stepSeconds).max().orElse(1);
        top += 30;
        canvas.text(10, top, SvgCanvas.Anchor.START, "Time of a step by part");
        top += 12;
        for (PlannedLayout each : best) {
            canvas.text(LEFT - 8, top + BAR - 5, SvgCanvas.Anchor.END, each.layout().toString());
            double left = LEFT;
            for (Map.Entry<String, Double> part : each.breakdown().entrySet()) {
                double width = part.getValue() / longest * (WIDTH - LEFT - 90);
                canvas.rectangle(left, top, width, BAR - 4, COLORS.getOrDefault(part.getKey(), SvgCanvas.INK),
                    part.getKey() + ": " + PlanText.number(1e3 * part.getValue()) + " ms");
                left += width;
            }
            canvas.text(left + 5, top + BAR - 5, SvgCanvas.Anchor.START,
                PlanText.number(1e3 * each.stepSeconds()) + " ms");
            top += BAR;
        }
        top += 16;
        legend();
    }

    private void legend() {
        double left = 10;
        for (Map.Entry<String, String> entry : COLORS.entrySet()) {
            if (plan.layouts().stream().anyMatch(each -> each.breakdown().getOrDefault(entry.getKey(), 0.0) > 0)) {
                canvas.rectangle(left, top - 9, 10, 10, entry.getValue(), entry.getKey());
                canvas.text(left + 14, top, SvgCanvas.Anchor.START, entry.getKey());
                left += 26 + 7 * entry.getKey().length();
            }
        }
    }

    private void memory() {
        top += 40;
        canvas.text(10, top, SvgCanvas.Anchor.START, "Memory of the fullest rank (GB) against samples/s");
        PlotAxis x = PlotAxis.around(plan.layouts().stream().mapToDouble(PlannedLayout::samplesPerSecond), LEFT,
            WIDTH - LEFT - RIGHT, PlotAxis.Scale.LOGARITHMIC);
        PlotAxis y = PlotAxis.around(plan.layouts().stream().mapToDouble(each -> each.memoryBytes() / GIB),
            top + PANEL, 20 - PANEL, PlotAxis.Scale.LOGARITHMIC);
        canvas.axes(x, y);
        for (PlannedLayout each : plan.layouts()) {
            canvas.rectangle(x.at(each.samplesPerSecond()) - 3, y.at(each.memoryBytes() / GIB) - 3, 6, 6,
                each.fits() ? COLORS.get("products") : SvgCanvas.INK, each.layout() + ", "
                + PlanText.number(each.samplesPerSecond()) + " samples/s, "
                + PlanText.number(each.memoryBytes() / GIB) + " GB" + (each.fits() ? "" : ", does not fit"));
        }
        double capacity = y.at(plan.best().capacity() / GIB);
        if (capacity > top && capacity < top + PANEL) {
            canvas.line(LEFT, capacity, WIDTH - RIGHT, capacity, MARK);
            canvas.text(WIDTH - RIGHT, capacity - 4, SvgCanvas.Anchor.END, "memory of a rank", MARK);
        }
        top += PANEL + 40;
    }

    private void timeline() {
        Timeline timeline = plan.best().timeline();
        canvas.text(10, top, SvgCanvas.Anchor.START, "One step of the best layout, " + plan.best().layout() + ": "
            + PlanText.number(1e3 * timeline.end()) + " ms");
        top += 12;
        List<String> streams = new ArrayList<>(List.of(Timeline.COMPUTE));
        timeline.spans().stream().map(Timeline.Span::stream).filter(stream -> !stream.equals(Timeline.WAIT))
            .filter(stream -> !streams.contains(stream)).forEach(streams::add);
        double scale = (WIDTH - LEFT - RIGHT) / timeline.end();
        for (Timeline.Span span : timeline.spans()) {
            if (!span.stream().equals(Timeline.WAIT)) {
                double row = top + streams.indexOf(span.stream()) * BAR;
                canvas.rectangle(LEFT + span.start() * scale, row, Math.max(0.2, span.seconds() * scale), BAR - 4,
                    color(span), span.label() + ", " + PlanText.number(1e6 * span.seconds()) + " us");
            }
        }
        for (String stream : streams) {
            top += BAR;
            canvas.text(LEFT - 8, top - 5, SvgCanvas.Anchor.END, stream);
        }
    }

    private static String color(Timeline.Span span) {
        return span.stream().equals(Timeline.COMPUTE) ? COLORS.getOrDefault(span.label(), SvgCanvas.INK)
            : COLORS.getOrDefault("exposed " + span.stream(), COLORS.get("exposed dp"));
    }
}
