package org.isobar.verify;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.data.Normalization;
import org.isobar.export.onnx.OnnxModel;
import org.isobar.export.onnx.OnnxSession;
import org.isobar.export.onnx.OwnForward;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** ONNX Runtime computes the predictions of the golden cases. */
class GoldenOnnxTest {
    @TempDir
    private Path directory;

    @TestFactory
    Stream<DynamicTest> theExportedModelAgrees() {
        return GoldenCase.all().stream().map(golden -> dynamicTest(golden.name(), () -> {
            for (int batch : new int[] {1, 3}) {
                double error = error(golden, batch);
                assertTrue(error <= 1e-5, () -> batch + " samples: error " + error);
            }
        }));
    }

    private double error(GoldenCase golden, int batch) throws Exception {
        OwnForward own =
            new OwnForward(golden.config(), Normalization.none(golden.config().inChannels()), golden::assign);
        float[] input = new float[(int) golden.config().input(batch).elements()];
        for (int i = 0; i < input.length; i++) {
            input[i] = (float) Math.sin(0.013 * i);
        }
        Path weights = directory.resolve("weights");
        Path file = directory.resolve("model.onnx");
        float[] expected = own.run(batch, input, weights);
        try (SafeTensorsFile stored = SafeTensorsFile.open(weights)) {
            new OnnxModel(golden.config(), golden.config().forwardGraph().orElseThrow(), own.normalization(), Map.of())
                .write(file, stored, "--out");
        }
        try (OnnxSession session = new OnnxSession(file)) {
            return own.error(session.run(golden.config().input(batch), input), expected);
        }
    }
}
