package org.isobar.data.zarr;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.fault.UserException;

/**
 * Extents of an array and of its chunks.
 *
 * @param shape those of the array
 * @param chunk those of a chunk
 */
record ZarrShape(int[] shape, int[] chunk) {
    private static final int MOST_DIMS = 32;

    /**
     * Parses the extents of an array.
     *
     * @throws UserException if they are missing, contradict each other or are too large
     */
    static ZarrShape of(Path file, String name, JsonNode shape, JsonNode chunks) {
        int[] extents = Json.extents(shape);
        int[] chunk = Json.extents(chunks);
        if (extents == null || extents.length > MOST_DIMS) {
            throw Json.damaged(file, "'" + name + "' has no shape of whole numbers: " + shape);
        }
        if (chunk == null || chunk.length != extents.length) {
            throw Json.damaged(file, "'" + name + "' has chunks of " + chunks + ", and a shape of " + shape);
        }
        for (int extent : chunk) {
            if (extent == 0) {
                throw Json.damaged(file, "'" + name + "' has chunks without elements: " + chunks);
            }
        }
        return new ZarrShape(extents, chunk);
    }

    /**
     * Names of dimensions; {@code dim_0}, {@code dim_1} where there are none.
     *
     * @throws UserException if there are more or fewer than dimensions
     */
    static List<String> names(Path file, String name, JsonNode list, int rank) {
        if (list.isArray() && list.size() != rank) {
            throw Json.damaged(file, "'" + name + "' has " + rank + " dimensions and the names " + list);
        }
        List<String> names = new ArrayList<>();
        for (int d = 0; d < rank; d++) {
            names.add(list.path(d).isTextual() ? list.path(d).asText() : "dim_" + d);
        }
        return names;
    }
}
