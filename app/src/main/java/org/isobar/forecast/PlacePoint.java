package org.isobar.forecast;

import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.fault.PlainText;
import org.isobar.fault.UserException;

/**
 * A named place on the globe.
 *
 * @param name      its name
 * @param latitude  in degrees north, from -90 to 90
 * @param longitude in degrees east, from -360 to 360
 */
public record PlacePoint(String name, double latitude, double longitude) {
    private static final Pattern FORM = Pattern.compile("([^:;,\"\\p{Cntrl}]+):([^:;,]+),([^:;,]+)");
    private static final double POLE = 90;
    private static final double CIRCLE = 360;

    /**
     * Parses places that are separated by semicolons, such as {@code Oslo:59.9,10.7;Quito:-0.2,-78.5}.
     *
     * @throws UserException if one has another form, lies outside the globe, or has the name of another
     */
    public static List<PlacePoint> parse(String text) {
        List<PlacePoint> points = Arrays.stream(text.split(";", -1)).map(PlacePoint::one).toList();
        if (points.stream().map(PlacePoint::name).distinct().count() < points.size()) {
            throw refused(text, "two places have the same name");
        }
        return points;
    }

    private static PlacePoint one(String text) {
        Matcher matcher = FORM.matcher(text.strip());
        if (!matcher.matches()) {
            throw refused(text, "it is not of the form NAME:LAT,LON");
        }
        PlacePoint point;
        try {
            point = new PlacePoint(matcher.group(1).strip(), Double.parseDouble(matcher.group(2)),
                Double.parseDouble(matcher.group(3)));
        } catch (NumberFormatException malformed) {
            throw refused(text, "latitude and longitude are numbers of degrees");
        }
        if (!(Math.abs(point.latitude) <= POLE && Math.abs(point.longitude) <= CIRCLE)) {
            throw refused(text, "latitudes are from -90 to 90, longitudes from -360 to 360");
        }
        return point;
    }

    private static UserException refused(String text, String reason) {
        return new UserException(PlainText.of("--points " + text + ": " + reason
            + "; give places such as Oslo:59.9,10.7;Quito:-0.2,-78.5"));
    }
}
