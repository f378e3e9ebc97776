package org.isobar.data;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

import io.jhdf.HdfFile;
import io.jhdf.api.Dataset;
import io.jhdf.api.Group;
import io.jhdf.api.Link;
import io.jhdf.api.Node;
import io.jhdf.api.dataset.ChunkedDataset;
import io.jhdf.object.datatype.FixedPoint;
import io.jhdf.object.datatype.FloatingPoint;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/** Lists what an HDF5 file contains, without reading the data. */
public final class Hdf5Contents {
    private static final int DEEPEST = 8;

    private Hdf5Contents() { }

    /**
     * One object of a file.
     *
     * @param name    its path in the file
     * @param shape   its extents; empty for what is not a data set
     * @param type    the type of its elements, or what it is
     * @param storage how its elements are stored
     */
    public record Variable(String name, String shape, String type, String storage) { }

    /**
     * The data sets of a file, in its groups too, and its links, which are not followed.
     *
     * @throws UserException if the file cannot be read or is not an HDF5 file
     */
    public static List<Variable> of(Path path) {
        List<Variable> found = new ArrayList<>();
        try (WatchedFile _ = WatchedFile.open(path); HdfFile hdf = new HdfFile(path)) {
            list(hdf, 0, found);
            return found;
        } catch (IOException failure) {
            throw FileFault.unreadable("data file " + path, failure);
        } catch (UserException known) {
            throw known;
        } catch (RuntimeException | OutOfMemoryError refused) { // the sizes in a damaged file may be anything
            throw Hdf5Fields.refusal(path, Era5File.FORM, refused);
        }
    }

    private static void list(Group group, int depth, List<Variable> found) {
        for (Node node : group) {
            String name = node.getPath().replaceFirst("^/", "");
            switch (node) {
                case Link _ -> found.add(new Variable(name, "", "a link", "not followed"));
                case Dataset dataset -> found.add(new Variable(name, Arrays.toString(dataset.getDimensions()),
                    type(dataset), storage(dataset)));
                case Group inner when depth < DEEPEST -> list(inner, depth + 1, found);
                default -> found.add(new Variable(name, "", node.getType().toString().toLowerCase(Locale.ROOT), ""));
            }
        }
    }

    private static String type(Dataset dataset) {
        int bits = dataset.getDataType().getSize() * Byte.SIZE;
        return switch (dataset.getDataType()) {
            case FloatingPoint real -> "float" + bits + order(real.getByteOrder());
            case FixedPoint whole -> (whole.isSigned() ? "int" : "uint") + bits + order(whole.getByteOrder());
            default -> dataset.getDataType().getClass().getSimpleName();
        };
    }

    private static String order(ByteOrder order) {
        return order == ByteOrder.BIG_ENDIAN ? " big-endian" : "";
    }

    private static String storage(Dataset dataset) {
        String filters = dataset.getFilters().stream().map(filter -> filter.getName())
            .collect(Collectors.joining(", "));
        return dataset instanceof ChunkedDataset chunked
            ? "chunks of " + Arrays.toString(chunked.getChunkDimensions()) + (filters.isEmpty() ? "" : ", " + filters)
            : dataset.getDataLayout().toString().toLowerCase(Locale.ROOT);
    }
}
