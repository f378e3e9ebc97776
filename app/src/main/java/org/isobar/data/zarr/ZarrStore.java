package org.isobar.data.zarr;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.data.source.ArrayStore;
import org.isobar.data.source.StoredArray;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/**
 * A Zarr store of version 2 or 3 on a local disk: a group of arrays, each a directory with a file for each chunk.
 * Consolidated metadata are read where there are some; an array that they name but that has no directory is left out,
 * so that a part of a store can be copied.
 */
public final class ZarrStore implements ArrayStore {
    private static final String GROUP = ".zgroup";
    private static final String CONSOLIDATED = ".zmetadata";
    private static final String ARRAY = ".zarray";
    private static final String ATTRIBUTES = ".zattrs";
    private static final String VERSION_3 = "zarr.json";

    private final Path path;
    private final ScratchPool pool = new ScratchPool();
    private final List<StoredArray> arrays;

    private ZarrStore(Path path) {
        this.path = path;
        Map<String, ArrayMetadata> found = new TreeMap<>();
        if (Files.exists(path.resolve(VERSION_3))) {
            readVersion3(found);
        } else {
            readVersion2(found);
        }
        arrays = found.values().stream().map(metadata -> (StoredArray) new ZarrArray(title(),
            path.resolve(metadata.name()), metadata, pool)).toList();
    }

    /** Whether a path looks like a Zarr store: a directory with the metadata of a group. */
    public static boolean isStore(Path path) {
        return List.of(GROUP, CONSOLIDATED, VERSION_3).stream().anyMatch(name -> Files.exists(path.resolve(name)));
    }

    /**
     * Opens a store and reads its metadata.
     *
     * @throws UserException if it is not a group of a Zarr store, or its metadata cannot be read or used
     */
    public static ZarrStore open(Path path) {
        if (!isStore(path)) {
            throw new UserException(path + " is not a Zarr store: it has neither " + VERSION_3 + " nor " + CONSOLIDATED
                + " nor " + GROUP + ". Name the directory that has one of these.");
        }
        return new ZarrStore(path);
    }

    @Override
    public Path path() {
        return path;
    }

    @Override
    public String title() {
        return "Zarr store " + path;
    }

    @Override
    public List<StoredArray> arrays() {
        return arrays;
    }

    @Override
    public void close() {
        pool.close();
    }

    private void readVersion2(Map<String, ArrayMetadata> found) {
        Path consolidated = path.resolve(CONSOLIDATED);
        if (!Files.exists(consolidated)) {
            requireVersion(path.resolve(GROUP), Json.read(path.resolve(GROUP)), 2);
            for (String name : directories()) {
                Path file = path.resolve(name).resolve(ARRAY);
                if (Files.exists(file)) {
                    Path attributes = path.resolve(name).resolve(ATTRIBUTES);
                    JsonNode array = Json.read(file);
                    add(found, Version2.parse(file, name, requireVersion(file, array, 2),
                        Files.exists(attributes) ? Json.read(attributes) : Json.EMPTY));
                }
            }
            return;
        }
        JsonNode all = Json.read(consolidated).path("metadata");
        if (!all.isObject()) {
            throw Json.damaged(consolidated, "it has no 'metadata'");
        }
        for (String name : directories()) {
            JsonNode array = all.path(name + "/" + ARRAY);
            if (array.isObject()) {
                add(found, Version2.parse(consolidated, name, requireVersion(consolidated, array, 2),
                    all.path(name + "/" + ATTRIBUTES)));
            }
        }
    }

    private void readVersion3(Map<String, ArrayMetadata> found) {
        Path file = path.resolve(VERSION_3);
        JsonNode root = requireVersion(file, Json.read(file), 3);
        if (!root.path("node_type").asText().equals("group")) {
            throw new UserException(title() + " is an array, not a group of arrays. Name the directory above it.");
        }
        JsonNode all = root.path("consolidated_metadata").path("metadata");
        for (String name : directories()) {
            Path own = path.resolve(name).resolve(VERSION_3);
            if (all.path(name).isObject()) {
                own = file;
            } else if (!Files.exists(own)) {
                continue;
            }
            JsonNode node = own.equals(file) ? all.path(name) : Json.read(own);
            if (node.path("node_type").asText().equals("array")) {
                add(found, Version3.parse(own, name, requireVersion(own, node, 3)));
            }
        }
    }

    private static JsonNode requireVersion(Path file, JsonNode node, int version) {
        if (node.path("zarr_format").asInt() != version) {
            throw Json.damaged(file, "its zarr_format is " + node.path("zarr_format") + ", and not " + version);
        }
        return node;
    }

    private static void add(Map<String, ArrayMetadata> found, Optional<ArrayMetadata> metadata) {
        metadata.ifPresent(array -> found.put(array.name(), array));
    }

    private List<String> directories() {
        try (DirectoryStream<Path> children = Files.newDirectoryStream(path, Files::isDirectory)) {
            List<String> names = new ArrayList<>();
            children.forEach(child -> names.add(child.getFileName().toString()));
            return names;
        } catch (IOException failure) {
            throw FileFault.unreadable(title(), failure);
        }
    }
}
