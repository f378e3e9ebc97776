package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.junit.jupiter.api.Test;

/** Compares with values that Python printed. */
class PythonFormatTest {

    /** The table is what Python prints; tools/reference/python_format_table.py makes it. */
    @Test
    void printsEveryDoubleOfTheTableAsPythonDoes() throws IOException {
        List<String> rows = table();
        assertTrue(rows.size() > 500, "rows: " + rows.size());
        for (String row : rows) {
            String[] columns = row.split("\t");
            double x = Double.longBitsToDouble(Long.parseUnsignedLong(columns[0], 16));
            assertEquals(columns[1], PythonFormat.repr(x), row);
            assertEquals(columns[2], PythonFormat.fixed(x), row);
        }
    }

    @Test
    void reprReadsBackAsTheSameDouble() {
        for (long bits = 1; bits < 3000; bits++) {
            double subnormal = Double.longBitsToDouble(bits);
            assertEquals(subnormal, Double.parseDouble(PythonFormat.repr(subnormal)));
        }
    }

    @Test
    void printsValuesOfAConfigurationAsPythonDoes() {
        assertEquals("None", PythonFormat.str(null));
        assertEquals("True", PythonFormat.str(true));
        assertEquals("False", PythonFormat.str(false));
        assertEquals("0.0005", PythonFormat.str(5E-4));
        assertEquals("0.5", PythonFormat.str(0.5f));
        assertEquals("None", PythonFormat.str(Optional.empty()));
        assertEquals("512", PythonFormat.str(Optional.of(512L)));
        assertEquals("half_up", PythonFormat.str(RoundingMode.HALF_UP));
        assertEquals("30000", PythonFormat.str(30_000));
        assertEquals("it's", PythonFormat.str("it's"));
        assertEquals("/data/train", PythonFormat.str(Path.of("/data/train")));
        assertEquals("[360, 720]", PythonFormat.str(List.of(360, 720)));
        assertEquals("[]", PythonFormat.str(List.of()));
        assertEquals("[1, 2.5, 'x', None, [True]]", PythonFormat.str(Arrays.asList(1, 2.5, "x", null, List.of(true))));
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("a", 1);
        map.put("b", "c");
        assertEquals("{'a': 1, 'b': 'c'}", PythonFormat.str(map));
    }

    @Test
    void quotesTextAsPythonDoes() {
        assertEquals("\"it's\"", PythonFormat.repr("it's"));
        assertEquals("'a\"b'", PythonFormat.repr("a\"b"));
        assertEquals("'a\\'b\"c'", PythonFormat.repr("a'b\"c"));
        assertEquals("'a\\nb\\\\\\t\\x00é'", PythonFormat.repr("a\nb\\\t\0é"));
    }

    private static List<String> table() throws IOException {
        try (InputStream table = PythonFormatTest.class.getResourceAsStream("python_format.tsv")) {
            return new String(table.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        }
    }
}
