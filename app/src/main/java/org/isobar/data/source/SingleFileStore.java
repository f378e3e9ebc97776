package org.isobar.data.source;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A store that is a single file. */
abstract class SingleFileStore implements ArrayStore {
    /** The open file. */
    final StoreFile file;
    /** The arrays, which the constructor of a subclass adds. */
    final List<StoredArray> arrays = new ArrayList<>();

    SingleFileStore(StoreFile file) {
        this.file = file;
    }

    @Override
    public Path path() {
        return file.path();
    }

    @Override
    public String title() {
        return file.title();
    }

    @Override
    public List<StoredArray> arrays() {
        return arrays;
    }

    @Override
    public void close() {
        file.close();
    }
}
