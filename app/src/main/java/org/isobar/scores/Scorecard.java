package org.isobar.scores;

import java.util.List;
import java.util.Locale;

/**
 * SVG table of the model's skill, variables by leads: blue where the model has a smaller error than persistence, red
 * where it has a larger one. Colours reach their full strength at a skill of 1 and -1.
 */
public final class Scorecard {
    private static final int LEFT = 90;
    private static final int TOP = 50;
    private static final int CELL_WIDTH = 44; // pixels
    private static final int CELL_HEIGHT = 20;
    private static final int BASELINE = 14;
    private static final int MOST_COLUMNS = 40;
    private static final int BETTER = 0x2166AC;
    private static final int WORSE = 0xB2182B;
    private static final int FULL = 255;
    private static final String DARK_TEXT = "#202020";
    private static final String LIGHT_TEXT = "#ffffff";
    private static final double STRONG = 0.85;

    private Scorecard() { }

    /** Draws the table; with more than 40 leads, only every second, third and so on. */
    public static String svg(ScoreReport report) {
        SvgCanvas canvas = new SvgCanvas();
        int every = (report.leads() + MOST_COLUMNS - 1) / MOST_COLUMNS;
        int columns = report.leads() / every;
        canvas.text(LEFT, 18, SvgCanvas.Anchor.START, "skill = 1 - rmse / rmse of persistence, by lead in hours");
        for (int column = 0; column < columns; column++) {
            canvas.text(LEFT + (column + 0.5) * CELL_WIDTH, TOP - 6.0, SvgCanvas.Anchor.MIDDLE,
                PlotAxis.label(report.hours((column + 1) * every)));
        }
        List<String> variables = report.variables();
        for (int row = 0; row < variables.size(); row++) {
            double top = TOP + (double) row * CELL_HEIGHT;
            canvas.text(LEFT - 6.0, top + BASELINE, SvgCanvas.Anchor.END, variables.get(row));
            Estimate[] skill = report.byLead(ForecastKind.MODEL, variables.get(row), ScoreSummary.SKILL);
            for (int column = 0; column < columns; column++) {
                cell(canvas, LEFT + (double) column * CELL_WIDTH, top, skill[(column + 1) * every - 1].value());
            }
        }
        return canvas.svg("Scorecard: skill against persistence", LEFT + columns * (double) CELL_WIDTH + 10,
            TOP + variables.size() * (double) CELL_HEIGHT + 10);
    }

    private static void cell(SvgCanvas canvas, double left, double top, double skill) {
        if (Double.isFinite(skill)) {
            String text = String.format(Locale.ROOT, "%.2f", skill);
            canvas.rectangle(left, top, CELL_WIDTH, CELL_HEIGHT, color(skill), text);
            canvas.text(left + CELL_WIDTH / 2.0, top + BASELINE, SvgCanvas.Anchor.MIDDLE, text,
                Math.abs(skill) > STRONG ? LIGHT_TEXT : DARK_TEXT);
        }
    }

    /** White for 0, the full colour for 1 and -1 and beyond. */
    private static String color(double skill) {
        int end = skill > 0 ? BETTER : WORSE;
        double strength = Math.min(1, Math.abs(skill));
        int color = 0;
        for (int shift = 16; shift >= 0; shift -= 8) {
            int channel = end >> shift & FULL;
            color |= (int) Math.round(FULL + strength * (channel - FULL)) << shift;
        }
        return String.format(Locale.ROOT, "#%06x", color);
    }
}
