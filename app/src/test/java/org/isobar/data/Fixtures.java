package org.isobar.data;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.OptionalLong;

import io.jhdf.HdfFile;
import io.jhdf.WritableHdfFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/** Data files for tests: those under resources (see tools/make_data_fixtures.py) and small ones made on the spot. */
final class Fixtures {
    /** Extents of the files under resources. */
    static final int TIMES = 4;
    static final Window STORED = new Window(3, 5, 7);

    private Fixtures() { }

    /** A file under resources. */
    static Path resource(String name) {
        try {
            return Path.of(Fixtures.class.getResource(name).toURI());
        } catch (URISyntaxException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Element [t, c, j, i] of the files under resources. */
    static float value(int t, int c, int j, int i) {
        return 1000 * t + 100 * c + 10 * j + i + 0.25f;
    }

    /** Value of an element. */
    interface Formula {
        /** Element [t, c, j, i]. */
        float at(int t, int c, int j, int i);
    }

    /** Writes a year file with jHDF. */
    static Path year(Path path, int times, Window extents, Formula formula) {
        float[][][][] fields = new float[times][extents.channels()][extents.height()][extents.width()];
        for (int t = 0; t < times; t++) {
            for (int c = 0; c < extents.channels(); c++) {
                for (int j = 0; j < extents.height(); j++) {
                    for (int i = 0; i < extents.width(); i++) {
                        fields[t][c][j][i] = formula.at(t, c, j, i);
                    }
                }
            }
        }
        path.getParent().toFile().mkdirs();
        try (WritableHdfFile file = HdfFile.write(path)) {
            file.putDataset(Era5File.FIELDS, fields);
        }
        return path;
    }

    /** Writes statistics of shape (1, C, 1, 1). */
    static Path statistics(Path path, double... values) {
        new NpyFile(DType.F32, Shape.of(1, values.length, 1, 1), values).write(path);
        return path;
    }

    /** Reading the data under a directory, three channels in and two out, with means 1, 2, 3 and spreads 2, 4, 8. */
    static DatasetConfig config(Path directory, int height, int width, int dt) {
        Path stats = directory.resolve("stats");
        return new DatasetConfig(directory.resolve("train"), statistics(stats.resolve("means.npy"), 1, 2, 3),
            statistics(stats.resolve("stds.npy"), 2, 4, 8), height, width, 3, 2, dt, OptionalLong.empty());
    }

    /** The same with at most {@code limit} samples. */
    static DatasetConfig limited(DatasetConfig config, long limit) {
        return new DatasetConfig(config.directory(), config.meansFile(), config.stdsFile(), config.height(),
            config.width(), config.inChannels(), config.outChannels(), config.dt(), OptionalLong.of(limit));
    }
}
