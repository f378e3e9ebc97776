package org.isobar.train.input;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.data.DistributedSampler;
import org.isobar.data.NpyFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.train.InputDamage;
import org.isobar.train.OutputTrigger;
import org.isobar.train.PreviousRunFiles;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs on invalid input: each ends with one error and exit code 2, and changes no existing file. */
class BadInputTest {
    @TempDir
    private static Path pristine;
    private static Path goodWeights;

    @TempDir
    private Path directory;
    private Path data;
    private PreviousRunFiles earlier;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(pristine);
        goodWeights = TinyRun.of(pristine, pristine.resolve("logs"), "num_iters=12", TinyRun.TWO_BLOCKS).succeeded()
            .weights();
    }

    /** Creates a copy of the data to damage, and output of a previous run. */
    @BeforeEach
    void setUp() throws IOException {
        data = directory.resolve("data");
        for (String file : List.of("train/1979.h5", "train/1980.h5", "valid/1981.h5", "stats/global_means.npy",
                "stats/global_stds.npy")) {
            Files.createDirectories(file(file).getParent());
            Files.copy(pristine.resolve("tiny").resolve(file), file(file));
        }
        earlier = PreviousRunFiles.in(directory.resolve("logs"));
    }

    private Path file(String name) {
        return data.resolve("tiny").resolve(name);
    }

    /** Trains; expects one error with all of these words and unchanged files of the previous run. */
    private String assertRefused(List<String> words, String... settings) throws IOException {
        return earlier.assertIntactAfter(TinyRun.of(data, earlier.logs(), settings), words);
    }

    @Test
    void undamagedCopyTrains() {
        TinyRun.of(data, earlier.logs(), "num_iters=12").succeeded();
    }

    @Test
    void missingData() throws IOException {
        assertRefused(List.of("There is no data directory /no/such", "--data_dir", "isobar synthesize"),
            "train_data_path=/no/such");
        Files.delete(file("valid/1981.h5"));
        assertRefused(List.of("Data directory " + file("valid") + " holds no HDF5 files (*.h5)"));
        Files.delete(file("stats/global_stds.npy"));
        assertRefused(List.of("cannot read array file " + file("stats/global_stds.npy"), "check the path"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        no_fields.h5 | has no data set 'fields' (it has:       | under that name
        group.h5     | 'fields' is a group                     | under that name
        rank3.h5     | expected [time, channel, latitude, lon  | Reshape it
        half.h5      | of 2 bytes, expected 32- or 64-bit      | Convert it to float32
        integers.h5  | expected 32- or 64-bit floating-point   | Convert it to float32
        strings.h5   | expected 32- or 64-bit floating-point   | Convert it to float32
        unwritten.h5 | was declared but never written          | Make the file again
        little.h5    | holds images of 5 x 7, smaller than the | Lower img_size
        f4.npy       | is not an HDF5 file or is damaged       | Copy or make it again
        """)
    void filesWithOtherContents(String name, String wrong, String remedy) throws IOException {
        Files.write(file("train/1979.h5"), BadInputTest.class.getResourceAsStream("/org/isobar/data/" + name)
            .readAllBytes());
        assertRefused(List.of(file("train/1979.h5").toString(), wrong, remedy));
    }

    @Test
    void fewerChannelsThanConfigured() throws IOException {
        Files.write(file("train/1980.h5"), BadInputTest.class.getResourceAsStream("/org/isobar/data/little.h5")
            .readAllBytes());
        assertRefused(List.of(file("train/1980.h5") + " has 3 channels, 4 are configured", "Lower n_in_channels"),
            "n_in_channels=4");
        assertRefused(List.of("global_means.npy has shape [1, 20, 1, 1]", "at least 21"), "n_in_channels=21");
    }

    @Test
    void imageLargerThanStored() throws IOException {
        assertRefused(List.of("1979.h5 holds images of 16 x 32, smaller than the configured img_size of 40 x 64"),
            "img_size=[40, 64]");
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 100, 5000, 400_000})
    void truncatedFiles(long bytes) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(file("train/1980.h5").toFile(), "rw")) {
            file.setLength(bytes);
        }
        assertRefused(List.of("Data file " + file("train/1980.h5") + " is ", "Copy or make it again"));
    }

    @Test
    void directoriesAndUnreadableFiles() throws IOException {
        Files.delete(file("train/1980.h5"));
        Files.createDirectory(file("train/1980.h5"));
        assertRefused(List.of("Data file " + file("train/1980.h5") + " is not a file"));

        Files.delete(file("train/1980.h5"));
        assertTrue(file("train/1979.h5").toFile().setReadable(false));
        assumeFalse(Files.isReadable(file("train/1979.h5")), "root reads everything");
        assertRefused(List.of("no permission for " + file("train/1979.h5")));
    }

    @Test
    void unusableStatistics() throws IOException {
        double[] ones = new double[20];
        Arrays.fill(ones, 1);
        new NpyFile(DType.F32, Shape.of(20), ones).write(file("stats/global_means.npy"));
        assertRefused(List.of("global_means.npy has shape [20], expected [1, C, 1, 1] with C at least 3"));
        Files.copy(pristine.resolve("tiny/stats/global_means.npy"), file("stats/global_means.npy"),
            StandardCopyOption.REPLACE_EXISTING);
        for (double bad : List.of(0.0, -1.0, Double.NaN, Double.POSITIVE_INFINITY)) {
            ones[1] = bad;
            new NpyFile(DType.F32, Shape.of(1, 20, 1, 1), ones).write(file("stats/global_stds.npy"));
            assertRefused(List.of("global_stds.npy holds " + bad + " for channel 1 (v10), expected a finite positive"));
        }
    }

    @Test
    void sizesThatDoNotFitTheData() throws IOException {
        assertRefused(List.of("holds 24 samples, fewer than one batch of 30", "Lower the batch size"),
            "global_batch_size=30");
        assertRefused(List.of("holds 12 samples, fewer than one batch of 13"), "global_batch_size=13");
        String log = assertRefused(List.of("num_iters 11 is less than one epoch of 12 steps", "raise --num_iters"),
            "num_iters=11");
        assertFalse(log.contains("VisionTransformer"), log);
    }

    @Test
    void nanInTheTrainingData() throws IOException {
        InputDamage.setValue(file("train/1980.h5"), 5, 1, 3, 4, Float.NaN);
        int[] order = new DistributedSampler(2 * TinyRun.STEPS, 2, 1, 0, true, 1).epoch(0);
        int first = IntStream.range(0, order.length) // the input of one sample is the target of the previous one
            .filter(place -> order[place] == TinyRun.STEPS + 4 || order[place] == TinyRun.STEPS + 5).findFirst()
            .orElseThrow();
        assertTrue(first >= 2, "scored before training");
        boolean inInput = IntStream.of(order[first / 2 * 2], order[first / 2 * 2 + 1])
            .anyMatch(sample -> sample == TinyRun.STEPS + 5); // as input, not only as target
        String log = assertRefused(List.of("the loss is NaN at step " + (first / 2 + 1) + ", sample " + order[first]
            + ": the data are not finite: NaN in sample " + order[first],
            file("train/1980.h5") + ", time step 5, channel 1 (v10), row 3, column 4", "repair the file"));
        assertEquals(inInput, log.contains("first layer whose output is not finite: patch_embed.proj"), log);
    }

    @Test
    void infinityInTheValidationData() throws IOException {
        InputDamage.setValue(file("valid/1981.h5"), 7, 2, 0, 31, Float.POSITIVE_INFINITY);
        assertRefused(List.of("in validation at step 12, sample 6: the data are not finite: Infinity in sample 6: ",
            file("valid/1981.h5") + ", time step 7, channel 2 (t2m), row 0, column 31"), "num_iters=12");
    }

    @Test
    void divergingTraining() throws IOException {
        assertRefused(List.of("the loss is NaN at step 2, sample ", "the data are finite, so training has diverged",
            "lower lr", "first layer whose output is not finite: blocks.0."), "lr=1e30");
    }

    @Test
    void weightsOfAnotherModel() throws IOException {
        String weights = "init_weights=" + goodWeights;
        assertRefused(List.of("does not fit", "it lacks blocks.2.attn.k.bias, ", "and 13 more"), "depth=3", weights);
        assertRefused(List.of("does not fit", "it also has blocks.1.attn.k.bias, "), "depth=1", weights);
        assertRefused(List.of("does not fit", "it has misshaped ", "[1, 8, 16] instead of [1, 8, 96]"),
            "embed_dim=96", TinyRun.TWO_BLOCKS, weights);
    }

    @Test
    void fileThatHasNoWeights() throws IOException {
        Path weights = directory.resolve("weights");
        assertRefused(List.of("cannot read weights " + weights + ": No such file"), "init_weights=" + weights);
        byte[] whole = Files.readAllBytes(goodWeights);
        Files.write(weights, Arrays.copyOf(whole, whole.length - 1));
        assertRefused(List.of(weights + " is not a complete safetensors file: it is truncated"),
            "init_weights=" + weights);
        assertRefused(List.of("is not a complete safetensors file"), "init_weights=" + file("train/1979.h5"));
        assertRefused(List.of("cannot read weights " + directory), "init_weights=" + directory);
    }

    @Test
    void tooLittleMemory() throws IOException {
        String log = assertRefused(List.of("this run needs 1408.", "GB of memory", "GB are free", "embed_dim"),
            "embed_dim=65536");
        assertFalse(log.contains("data loader initialized"), "refused before anything is allocated: " + log);
    }

    @Test
    void errorDuringTrainingKeepsEarlierOutput() throws IOException {
        TinyRun run = TinyRun.of(data, earlier.logs(), screen -> OutputTrigger.after("Avg train loss", screen,
            () -> InputDamage.setValue(file("train/1979.h5"), 3, 0, 0, 0, Float.NaN)), "num_iters=36",
            "num_data_workers=0");
        String log = earlier.assertIntactAfter(run, List.of("1979.h5, time step 3, channel 0 (u10), row 0, column 0"));
        assertTrue(log.contains("  Total validation time: "), log);
        assertTrue(log.contains("Time taken for epoch 1 is "), log);
        assertFalse(log.contains("Time taken for epoch 2 is "), log);
        List<String> labels = run.events().labels();
        assertEquals("RMSE(t2m)/valid @ 12", labels.getLast());
        assertEquals(14, labels.size());
        assertTrue(Files.size(run.directory().resolve("prediction.png")) > 1000);
    }
}
