package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;

import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.SyntheticData;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Options reach the configuration; the defaults are the demo's. */
class SynthesizeCommandTest {
    private static final ProgramContext CONTEXT = new ProgramContext(Path.of(".."), Map.of());

    @TempDir
    private Path directory;

    @Test
    void writesWhatTheOptionsSay() {
        StringWriter out = new StringWriter();
        int code = new CommandLine(new SynthesizeCommand(CONTEXT)).setOut(new PrintWriter(out)).execute(
            "--data_dir=" + directory, "--height=16", "--width", "32", "--train_years=1", "--valid_years=2",
            "--test_years=0", "--samples_per_year=5", "--seed=9");
        assertEquals(0, code);
        assertTrue(SyntheticEra5.isComplete(new SyntheticConfig(16, 32, 1, 2, 0, 5, 9), directory));
        assertTrue(out.toString().contains("valid/1981.h5"), out.toString());
    }

    @Test
    void defaultsMakeTheDemoSet() {
        SynthesizeCommand command = new SynthesizeCommand(CONTEXT);
        new CommandLine(command).parseArgs();
        RunConfig demo = ConfigLoader.load(
            new ConfigRequest(Path.of("..", "config", "ViT.yaml"), "demo", Map.of()));
        SyntheticData data = demo.data().synthetic().orElseThrow();
        assertEquals(new SyntheticConfig(demo.model().height(), demo.model().width(), data.trainYears(),
            data.validYears(), data.testYears(), data.samplesPerYear(), data.seed()), command.config());
    }

    @ParameterizedTest
    @CsvSource({"/there, /there", "'', ./data", "' ', ./data"})
    void withoutTheOptionTheEnvironmentNamesTheDirectory(String variable, Path expected) {
        SynthesizeCommand command = new SynthesizeCommand(new ProgramContext(Path.of(".."),
            Map.of("DATADIR", variable)));
        new CommandLine(command).parseArgs();
        assertEquals(expected, command.dataDirectory());
    }
}
