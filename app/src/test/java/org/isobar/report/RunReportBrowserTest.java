package org.isobar.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests a report in Chromium without a screen: a script is appended to the page that moves the pointer, switches runs
 * and writes what it sees into the page's title. Skipped where Chromium is not installed.
 */
class RunReportBrowserTest {
    private static final long PATIENCE_SECONDS = 60;
    private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome");
    /** Looks at the page, as a reader with a pointer would. */
    private static final String READER = """
        <script>
        const seen = {};
        const tip = id => [...document.querySelectorAll(`#${id} .tip:not([hidden]) span`)].map(e => e.textContent);
        const point = (id, share) => {
          const box = document.querySelector(`#${id} > svg`).getBoundingClientRect();
          document.querySelector(`#${id} > svg`).dispatchEvent(new PointerEvent('pointermove',
            {clientX: box.left + 58 + share * (box.width - 70), clientY: box.top + 80}));
          return tip(id);
        };
        const count = id => document.querySelectorAll(`#${id} path.curve[data-run]`).length;
        seen.curves = Object.fromEntries(['train', 'valid', 'rmse', 'rate', 'speed'].map(id => [id, count(id)]));
        seen.first = point('train', 0);
        seen.last = point('train', 1);
        seen.valid = point('valid', 0.5);
        document.getElementById('axis').value = 'samples';
        document.getElementById('axis').dispatchEvent(new Event('change'));
        seen.samples = point('train', 1);
        document.getElementById('axis').value = 'time';
        document.getElementById('score').value = 't2m';
        document.getElementById('axis').dispatchEvent(new Event('change'));
        seen.score = point('rmse', 0);
        document.querySelectorAll('#runs input')[0].click();
        seen.switched = {train: count('train'), tip: point('train', 1)};
        seen.events = [...document.querySelectorAll('#events svg text')].map(e => e.textContent);
        const lanes = document.querySelector('#trace > svg').getBoundingClientRect();
        const drawn = [...document.querySelectorAll('#trace rect')].map(e => e.getBoundingClientRect());
        seen.trace = drawn.map(bar => Math.round(100 * bar.width / (lanes.width - 100)));
        document.querySelector('#trace > svg').dispatchEvent(new PointerEvent('pointermove',
          {clientX: drawn[1].left + 5, clientY: drawn[1].top + 5}));
        seen.traceTip = tip('trace');
        seen.title = document.title;
        seen.overflow = document.documentElement.scrollWidth > document.documentElement.clientWidth;
        seen.injected = document.querySelectorAll('main b, main img[src=x]').length;
        seen.differences = document.getElementById('differences').innerText;
        document.title = JSON.stringify(seen);
        </script></body>""";

    @TempDir
    private Path directory;

    @Test
    void curvesAreThereAndValuesOnHoverRight() throws Exception {
        JsonNode seen = read(RecordedMetrics.page(directory));
        for (String chart : List.of("train", "valid", "rmse", "rate", "speed")) {
            assertEquals(2, seen.at("/curves/" + chart).asInt(), chart);
        }
        assertEquals("1 steps|logs/first: 1.5|logs/second: 1", tip(seen.get("first")));
        assertEquals("20 steps|logs/first: 1.025|logs/second: 0.525", tip(seen.get("last")));
        assertEquals("10 steps|logs/first: 1|logs/second: 0.66667", tip(seen.get("valid")));
        assertEquals("80 samples|logs/first: 1.025|logs/second: 0.525", tip(seen.get("samples")));
        assertEquals("0.5 seconds|logs/first: 0.8|logs/second: 0.8", tip(seen.get("score")));
        assertEquals(1, seen.at("/switched/train").asInt());
        assertEquals("21 seconds|logs/second: 0.525", tip(seen.at("/switched/tip")));
        List<String> events = texts(seen.get("events"));
        assertEquals(List.of(2L, 2L, 1L, 1L), Stream.of("▶", "│", "✕", "■")
            .map(glyph -> events.stream().filter(glyph::equals).count()).toList());
        assertTrue(seen.get("title").asText().startsWith("Isobar: "), "the data did not run as a script");
        assertEquals(0, seen.get("injected").asInt());
        assertEquals("[50,20]", seen.get("trace").toString(), "percent of the step");
        assertEquals("rank 0, collectives: all_reduce dp|0.2 ms, 64 bytes, waited 150 µs for rank 3",
            tip(seen.get("traceTip")));
        assertFalse(seen.get("overflow").asBoolean(), "the page is wider than the window");
        assertTrue(seen.get("differences").asText().contains("lr"));
        assertFalse(seen.get("differences").asText().contains("data_dir"));
    }

    private static List<String> texts(JsonNode list) {
        return Stream.iterate(0, i -> i < list.size(), i -> i + 1).map(i -> list.get(i).asText()).toList();
    }

    /** Lines of a tip; names without the temporary directory. */
    private static String tip(JsonNode lines) {
        return String.join("|", texts(lines)).replaceAll("[^|]*/logs/", "logs/").replace(" |", "|");
    }

    private JsonNode read(String page) throws IOException, InterruptedException {
        Path html = directory.resolve("page.html");
        Files.writeString(html, page.replace("</body>", READER));
        File dom = directory.resolve("dom").toFile();
        File err = directory.resolve("err").toFile();
        Process browser = new ProcessBuilder(chromium(), "--headless", "--no-sandbox", "--disable-gpu",
            "--user-data-dir=" + directory.resolve("profile"), "--window-size=800,900", "--enable-logging=stderr",
            "--virtual-time-budget=2000", "--dump-dom", html.toUri().toString())
            .redirectOutput(dom).redirectError(err).start();
        boolean ended = browser.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        browser.destroyForcibly();
        String console = Files.readString(err.toPath());
        assertTrue(ended, console);
        assertFalse(console.contains("CONSOLE"), console);
        String written = Files.readString(dom.toPath());
        String title = written.replaceFirst("(?s).*?<title>(.*?)</title>.*", "$1").replace("&lt;", "<")
            .replace("&gt;", ">").replace("&amp;", "&");
        return new JsonMapper().readTree(title);
    }

    private static String chromium() {
        List<String> found = Stream.of(System.getenv("PATH").split(File.pathSeparator))
            .flatMap(folder -> NAMES.stream().map(name -> Path.of(folder, name))).filter(Files::isExecutable)
            .map(Path::toString).toList();
        assumeTrue(!found.isEmpty(), "Chromium is not installed");
        return found.getFirst();
    }
}
