package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;

/** Compares with lines of recorded runs of the tutorial. */
class TutorialLinesTest {
    private static final double MIB_AS_BYTES = 1 << 20;

    @Test
    void epochLines() {
        assertEquals("Starting Training Loop...", TutorialLines.trainingStarts());
        assertEquals("Time taken for epoch 1 is 61.425346 sec, avg 8.335321 samples/sec",
            TutorialLines.epochTime(1, 61.4253463745, 8.3353214263));
        assertEquals("Time taken for epoch 3 is 43.268373 sec, avg 11.833123 samples/sec",
            TutorialLines.epochTime(3, 43.268373, 11.833123));
        assertEquals("Time taken for epoch 1 is 49.274928 sec, avg 10.390680 samples/sec",
            TutorialLines.epochTime(1, 49.274928, 10.39068));
        assertEquals("  Avg train loss=0.391900", TutorialLines.trainLoss(0.3919));
        assertEquals("DONE ---- rank 0", TutorialLines.done(0));
    }

    @Test
    void validationLines() {
        assertEquals("  Avg val loss=0.4210963547229767", TutorialLines.validationLoss(0.4210963547229767f));
        assertEquals("  Avg val loss=0.3769605755805969", TutorialLines.validationLoss(0.37696058f));
        assertEquals("  Avg val loss=0.4232867658138275", TutorialLines.validationLoss(0.42328677f));
        assertEquals("  Avg val loss=0.35053959488868713", TutorialLines.validationLoss(0.3505396f));
        assertEquals("  Total validation time: 4.699830055236816 sec", TutorialLines.validationTime(4.699830055236816));
        assertEquals("  Total validation time: 4.2772088050842285 sec",
            TutorialLines.validationTime(4.2772088050842285));
    }

    @Test
    void memoryLines() {
        assertEquals("Scaffolding memory high watermark: 10.4781494140625 GB.",
            TutorialLines.scaffoldingMemory(mib(10_729.625)));
        assertEquals(" Memory usage after forward pass: 43.8121337890625 GB.",
            TutorialLines.forwardMemory(mib(44_863.625)));
        assertEquals(" Memory usage after forward pass: 44.92926025390625 GB.",
            TutorialLines.forwardMemory(mib(46_007.5625)));
        assertEquals("1.0", TutorialLines.gigabytes(1L << 30));
    }

    @Test
    void configurationBlock() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("lr", 5E-4);
        values.put("img_size", List.of(360, 720));
        values.put("limit_nsamples", null);
        values.put("distributed", false);
        values.put("train_data_path", "/data/train");
        assertEquals(List.of(
            "------------------ Configuration ------------------",
            "Configuration file: ./config/ViT.yaml",
            "Configuration name: short",
            "lr 0.0005",
            "img_size [360, 720]",
            "limit_nsamples None",
            "distributed False",
            "train_data_path /data/train",
            "---------------------------------------------------"),
            TutorialLines.configuration("./config/ViT.yaml", "short", values));
    }

    @Test
    void setUpLines() {
        assertEquals("Setting DP = 4, TP = 2, CP = 1, PP = 1", TutorialLines.grid(4, 2, 1, 1));
        assertEquals("rank 3, begin data loader init", TutorialLines.loaderBegins(3));
        assertEquals("rank 3, data loader initialized", TutorialLines.loaderReady(3));
        assertEquals("Getting file stats from /data/train/1990.h5",
            TutorialLines.fileStats(Path.of("/data/train/1990.h5")));
        assertEquals("Getting file stats from a\\u001b[31m\\u000a1990.h5",
            TutorialLines.fileStats(Path.of("a\u001b[31m\n1990.h5")));
        assertEquals("Number of samples per year: 1460", TutorialLines.samplesPerYear(1460));
        assertEquals("Found data at path /data/train. Number of examples: 36500. Image Shape: 360 x 720 x 20",
            TutorialLines.dataFound("/data/train", 36_500, 360, 720, 20));
        assertEquals("Overriding total number of samples to: 512", TutorialLines.samplesLimited(512));
    }

    private static long mib(double count) {
        return (long) (count * MIB_AS_BYTES);
    }
}
