package org.isobar.data.synthetic;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * The contents of {@code stats/synthetic.json}, which describes a synthetic data set. It is written first as incomplete
 * and again at the end. Files of an interrupted run are recognized by it, and other data is never overwritten.
 *
 * @param complete  whether all files have been written
 * @param config    configuration of the data set
 * @param variables the channels, in order; empty while incomplete
 */
public record SyntheticManifest(boolean complete, SyntheticConfig config, List<Channel> variables) {
    private static final String FILE = "synthetic.json";

    /**
     * A channel of a data set.
     *
     * @param name       name of the variable
     * @param unit       unit of the variable
     * @param mean       mean over the training years
     * @param std        standard deviation over the training years
     * @param noiseFloor root mean square error, in units of {@code std}, of a forecast of the exact next state without
     *                   its observation noise: the lower bound for any forecast
     */
    public record Channel(String name, String unit, double mean, double std, double noiseFloor) { }

    /**
     * Reads the manifest of the data set under a directory; empty if there is none.
     *
     * @throws UserException if it exists and cannot be read or parsed
     */
    public static Optional<SyntheticManifest> read(Path dataDirectory) {
        Path path = path(dataDirectory);
        if (!Files.exists(path)) {
            return Optional.empty();
        }
        try {
            return Optional.of(new ObjectMapper().readValue(Files.readAllBytes(path), SyntheticManifest.class));
        } catch (JsonProcessingException damaged) {
            throw new UserException("Manifest " + path + " cannot be parsed (" + damaged.getOriginalMessage()
                + "). Delete the data set at " + dataDirectory + " and make it again.", damaged);
        } catch (IOException failure) {
            throw FileFault.unreadable("manifest " + path, failure);
        }
    }

    /**
     * Writes the manifest of the data set under a directory.
     *
     * @throws UserException if it cannot be written
     */
    void write(Path dataDirectory) {
        new AtomicFile("manifest", path(dataDirectory), "--data_dir").write(channel -> AtomicFile.writeFully(channel,
            ByteBuffer.wrap(new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValueAsBytes(this))));
    }

    private static Path path(Path dataDirectory) {
        return dataDirectory.resolve("stats").resolve(FILE);
    }
}
