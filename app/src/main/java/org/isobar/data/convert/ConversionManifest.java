package org.isobar.data.convert;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/**
 * The contents of {@code conversion.json}: how the year files beside it were made. A conversion that was interrupted is
 * continued only with the same settings.
 *
 * @param from          the sources
 * @param channels      short names of the channels, in their order
 * @param units         their units
 * @param variables     what each channel is called in the sources
 * @param height        number of latitudes
 * @param width         number of longitudes
 * @param grid          part of the sources' grid, and rows and columns of averaged cells
 * @param hoursPerFrame hours from one time step to the next
 * @param fillNaN       what missing values were replaced with; empty if they were refused
 */
record ConversionManifest(List<String> from, List<String> channels, List<String> units, List<String> variables,
                          int height, int width, String grid, int hoursPerFrame, String fillNaN) {
    private static final String FILE = "conversion.json";
    private static final int MAX_BYTES = 16 << 20;

    /** The manifest of a directory; empty if there is none. */
    static Optional<ConversionManifest> read(Path directory) {
        Path path = directory.resolve(FILE);
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.empty();
        }
        try {
            ConversionManifest manifest =
                new ObjectMapper().readValue(RegularFile.read(path, MAX_BYTES), ConversionManifest.class);
            return Optional.ofNullable(manifest);
        } catch (JsonProcessingException failure) {
            throw new UserException("Record of a conversion " + path + " cannot be parsed ("
                + failure.getOriginalMessage() + "). Replace the files with --force, or name another directory with "
                + "--to.", failure);
        } catch (IOException failure) {
            throw FileFault.unreadable("record of a conversion " + path, failure);
        }
    }

    /** Writes the manifest of a directory. */
    void write(Path directory) {
        new AtomicFile("record of a conversion", directory.resolve(FILE), "--to").write(channel ->
            AtomicFile.writeFully(channel, ByteBuffer.wrap(new ObjectMapper()
                .enable(SerializationFeature.INDENT_OUTPUT).writeValueAsBytes(this))));
    }

    /** Whether year files of another manifest can stand beside those of this one. The sources may have grown. */
    boolean fits(ConversionManifest other) {
        return Objects.equals(channels, other.channels) && Objects.equals(units, other.units)
            && height == other.height && width == other.width && Objects.equals(grid, other.grid)
            && hoursPerFrame == other.hoursPerFrame && Objects.equals(fillNaN, other.fillNaN);
    }
}
