package org.isobar.forecast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;
import org.isobar.pretrained.ModelGrid;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Places and what fields have there. */
class PointWeightsTest {
    private static final ModelGrid POLES = new ModelGrid(List.of(90.0, 45.0, 0.0, -45.0, -90.0), circle(0));
    private static final ModelGrid CELLS = new ModelGrid(List.of(-67.5, -22.5, 22.5, 67.5), circle(-135));
    private static final ModelGrid EUROPE = new ModelGrid(List.of(70.0, 60.0, 50.0), List.of(-10.0, 0.0, 10.0));

    private static List<Double> circle(double first) {
        return IntStream.range(0, 4).mapToObj(i -> first + 90 * i).toList();
    }

    /** A field with a value for each row and a value for each column, which are added. */
    private static float[] field(float[] rows, float[] columns) {
        float[] field = new float[rows.length * columns.length];
        for (int i = 0; i < field.length; i++) {
            field[i] = rows[i / columns.length] + columns[i % columns.length];
        }
        return field;
    }

    private static float at(ModelGrid grid, double latitude, double longitude, float[] field) {
        return new PointWeights(new PlacePoint("here", latitude, longitude), grid).at(field);
    }

    @ParameterizedTest
    @CsvSource({"45, 90, 12", "22.5, 90, 17", "45, 45, 11", "0, 315, 21.5", "-45, -45, 31.5", "0, 360, 20",
        "0, -360, 20", "90, 90, 2", "-67.5, 90, 37", "0, 359.999999, 20"})
    void interpolationIsLinearAndWraps(double latitude, double longitude, float expected) {
        float[] field = field(new float[] {0, 10, 20, 30, 40}, new float[] {0, 2, 4, 3});
        assertEquals(expected, at(POLES, latitude, longitude, field), 1e-5);
    }

    /** The outermost rows have the mean 5 of the columns' values 2, 4, 6, 8; rows lie half a cell from the poles. */
    @ParameterizedTest
    @CsvSource({"90, 0, 35", "90, 77, 35", "67.5, -45, 34", "78.75, -45, 34.5", "-90, 10, 5", "-78.75, 135, 6.5",
        "0, 180, 20", "0, -180, 20"})
    void theValueAtThePoleIsTheMeanOfTheNearestRow(double latitude, double longitude, float expected) {
        float[] field = field(new float[] {0, 10, 20, 30}, new float[] {2, 4, 6, 8});
        assertEquals(expected, at(CELLS, latitude, longitude, field), 1e-5);
    }

    @Test
    void aRegionHasAnInsideAlone() {
        float[] field = field(new float[] {0, 10, 20}, new float[] {0, 1, 2});
        assertEquals(15.5, at(EUROPE, 55, -5, field), 1e-5);
        assertEquals(15.5, at(EUROPE, 55, 355, field), 1e-5);
        for (double[] outside : new double[][] {{55, 11}, {55, -11}, {55, 180}, {49, 0}, {75, 0}, {-60, 0}}) {
            UserException refusal =
                assertThrows(UserException.class, () -> at(EUROPE, outside[0], outside[1], field));
            assertTrue(refusal.getMessage().contains("lies outside the "), refusal.getMessage());
        }
    }

    @Test
    void placesAreParsed() {
        assertEquals(List.of(new PlacePoint("Oslo", 59.9, 10.7), new PlacePoint("South Pole", -90, 0)),
            PlacePoint.parse("Oslo:59.9,10.7; South Pole:-90,0"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "Oslo", "Oslo:59.9", "Oslo:59.9,10.7;", ":1,2", "a:91,0", "a:0,361", "a:NaN,0", "a:x,0",
        "a:1,2;a:3,4", "a,b:1,2", "a:1,2,3", "\"a\":1,2"})
    void whatIsNoPlaceIsRefused(String text) {
        UserException refusal = assertThrows(UserException.class, () -> PlacePoint.parse(text));
        assertTrue(refusal.getMessage().matches("--points .*: .*; give places such as .*"), refusal.getMessage());
    }
}
