package org.isobar.scores;

import java.util.List;
import java.util.Locale;

/**
 * An SVG 1.1 picture that is drawn from the upper left corner, in pixels. Text and axes are grey, which is visible on
 * white and on black.
 */
public final class SvgCanvas {
    /** Colour of text and axes. */
    public static final String INK = "#808080";

    private static final double TICK = 5;
    private static final double SAMPLE = 26; // length of a line in a legend
    private static final double CHARACTER = 7; // width of a letter, about

    private final StringBuilder elements = new StringBuilder();

    /** Horizontal position of a text relative to its anchor. */
    public enum Anchor {
        /** The text begins there. */
        START,
        /** The middle of the text is there. */
        MIDDLE,
        /** The text ends there. */
        END
    }

    /**
     * How a curve is drawn. Curves of one plot differ in both, so that they can be told apart without colours. The
     * colours have a contrast of 3 or more on white and on black.
     *
     * @param color such as {@code #808080}
     * @param dash  lengths of dashes and gaps in pixels, separated by commas; empty for a whole line
     */
    public record Stroke(String color, String dash) { }

    /** Draws a straight line. */
    public void line(double x1, double y1, double x2, double y2, String color) {
        add("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'/>%n", x1, y1, x2, y2, color);
    }

    /** Draws two axes with labelled ticks. */
    public void axes(PlotAxis x, PlotAxis y) {
        axes(x, x.ticks(), y);
    }

    /** Draws two axes, with ticks at these values of the horizontal one. */
    public void axes(PlotAxis x, double[] ticks, PlotAxis y) {
        line(x.origin(), y.origin(), x.origin() + x.length(), y.origin(), INK);
        line(x.origin(), y.origin(), x.origin(), y.origin() + y.length(), INK);
        for (double tick : ticks) {
            line(x.at(tick), y.origin(), x.at(tick), y.origin() + TICK, INK);
            text(x.at(tick), y.origin() + TICK + 14, Anchor.MIDDLE, PlotAxis.label(tick));
        }
        for (double tick : y.ticks()) {
            line(x.origin() - TICK, y.at(tick), x.origin(), y.at(tick), INK);
            text(x.origin() - TICK - 3, y.at(tick) + 4, Anchor.END, PlotAxis.label(tick));
        }
    }

    /** Draws connected lines through points; points that are not finite interrupt them. */
    public void polyline(double[] x, double[] y, Stroke stroke) {
        StringBuilder path = new StringBuilder();
        boolean pen = false;
        for (int i = 0; i < x.length; i++) {
            boolean finite = Double.isFinite(y[i]);
            if (finite) {
                path.append(format("%s%.1f,%.1f", pen ? " L" : " M", x[i], y[i]));
            }
            pen = finite;
        }
        if (!path.isEmpty()) {
            add("<path d='%s' fill='none' stroke='%s' stroke-width='2'%s/>%n", path.substring(1), stroke.color,
                dashes(stroke));
        }
    }

    /** Draws a sample and a name of each curve, from left to right. */
    public void legend(double x, double y, List<Stroke> strokes, List<String> names) {
        double left = x;
        for (int i = 0; i < names.size(); i++) {
            Stroke stroke = strokes.get(i);
            add("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='2'%s/>%n", left, y - 4,
                left + SAMPLE, y - 4, stroke.color, dashes(stroke));
            text(left + SAMPLE + 5, y, Anchor.START, names.get(i));
            left += SAMPLE + 20 + CHARACTER * names.get(i).length();
        }
    }

    private static String dashes(Stroke stroke) {
        return stroke.dash.isEmpty() ? "" : " stroke-dasharray='" + stroke.dash + "'";
    }

    /** Fills the area between two curves where both are finite. */
    public void band(double[] x, double[] low, double[] high, String color) {
        StringBuilder there = new StringBuilder();
        StringBuilder back = new StringBuilder();
        for (int i = 0; i < x.length; i++) {
            if (Double.isFinite(low[i]) && Double.isFinite(high[i])) {
                there.append(format(" %.1f,%.1f", x[i], high[i]));
                back.insert(0, format(" %.1f,%.1f", x[i], low[i]));
            }
        }
        if (!there.isEmpty()) {
            add("<polygon points='%s%s' fill='%s' fill-opacity='0.25'/>%n", there.substring(1), back, color);
        }
    }

    /** Fills a rectangle; {@code title} is shown when the pointer is over it. */
    public void rectangle(double x, double y, double width, double height, String color, String title) {
        add("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'><title>%s</title></rect>%n", x, y, width,
            height, color, escaped(title));
    }

    /** Writes a text in the colour of the axes. */
    public void text(double x, double y, Anchor anchor, String content) {
        text(x, y, anchor, content, INK);
    }

    /** Writes a text. */
    public void text(double x, double y, Anchor anchor, String content, String color) {
        add("<text x='%.1f' y='%.1f' text-anchor='%s' fill='%s'>%s</text>%n", x, y,
            anchor.name().toLowerCase(Locale.ROOT), color, escaped(content));
    }

    /** The whole file. */
    public String svg(String title, double width, double height) {
        return format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' height='%.0f' "
            + "font-family='sans-serif' font-size='12'>%n<title>%s</title>%n%s</svg>%n", width, height, width, height,
            escaped(title), elements);
    }

    private void add(String pattern, Object... values) {
        elements.append(format(pattern, values));
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern.replace("%n", "\n"), values);
    }
}
