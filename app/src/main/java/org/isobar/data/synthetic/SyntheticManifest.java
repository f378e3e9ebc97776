package org.isobar.data.synthetic;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import org.isobar.data.Era5Variable;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

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
    private static final int MAX_BYTES = 1 << 20;

    /**
     * Checks that nothing is missing, because the manifest may be read from a file.
     *
     * @throws UserException if something is
     */
    public SyntheticManifest {
        if (config == null || variables == null || variables.stream().anyMatch(Objects::isNull)
            || complete && variables.size() != Era5Variable.COUNT) {
            throw new UserException("it does not describe a configuration and " + Era5Variable.COUNT + " variables");
        }
    }

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
     * @throws UserException if it exists and cannot be read or parsed, or is not complete in itself
     */
    public static Optional<SyntheticManifest> read(Path dataDirectory) {
        Path path = path(dataDirectory);
        if (!Files.exists(path)) {
            return Optional.empty();
        }
        try {
            SyntheticManifest manifest =
                new ObjectMapper().readValue(RegularFile.read(path, MAX_BYTES), SyntheticManifest.class);
            if (manifest == null) {
                throw damaged(dataDirectory, "it is null", null);
            }
            return Optional.of(manifest);
        } catch (JsonProcessingException failure) {
            throw damaged(dataDirectory, failure.getOriginalMessage(), failure);
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

    private static UserException damaged(Path dataDirectory, String reason, Exception cause) {
        return new UserException("Manifest " + path(dataDirectory) + " cannot be parsed (" + reason
            + "). Delete the data set at " + dataDirectory + " and make it again.", cause);
    }

    private static Path path(Path dataDirectory) {
        return dataDirectory.resolve("stats").resolve(FILE);
    }
}
