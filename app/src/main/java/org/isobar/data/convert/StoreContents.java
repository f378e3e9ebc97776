package org.isobar.data.convert;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

import org.isobar.data.Era5Variable;
import org.isobar.data.source.ArrayStore;
import org.isobar.data.source.StoredArray;
import org.isobar.data.survey.ScanObserver;
import org.isobar.data.zarr.ZarrStore;
import org.isobar.fault.UserException;

/** What a NetCDF file or a Zarr store contains, in rows of text, before it is converted. */
public final class StoreContents implements AutoCloseable {
    private static final String FILES = "(?i).*\\.(nc|nc3|nc4|cdf|netcdf)";

    private final ArrayStore store;
    private final List<GriddedArray> fields = new ArrayList<>();
    private final List<List<String>> refused = new ArrayList<>();

    private StoreContents(ArrayStore store) {
        this.store = store;
        for (StoredArray array : store.arrays()) {
            try {
                GriddedArray.of(store, array).ifPresent(fields::add);
            } catch (UserException refusal) {
                refused.add(List.of(array.name(), Catalog.reason(store, refusal)));
            }
        }
    }

    /** Whether a path is a Zarr store, or is named as NetCDF files are. */
    public static boolean isStore(Path path) {
        return Files.isDirectory(path) ? ZarrStore.isStore(path) : path.getFileName().toString().matches(FILES);
    }

    /**
     * Opens a file or store.
     *
     * @throws UserException if it cannot be read
     */
    public static StoreContents open(Path path) {
        ArrayStore store = SourceOpener.open(List.of(path.toString()), path).getFirst();
        try {
            return new StoreContents(store);
        } catch (RuntimeException refused) {
            store.close();
            throw refused;
        }
    }

    /** Name, shape with dimensions, type and storage of each array. */
    public List<List<String>> arrays() {
        return store.arrays().stream().map(array -> List.of(array.name(), shape(array),
            array.type().toString().toLowerCase(Locale.ROOT), array.storage())).toList();
    }

    private static String shape(StoredArray array) {
        List<String> extents = new ArrayList<>();
        for (int d = 0; d < array.shape().length; d++) {
            extents.add(array.dims().get(d) + " " + array.shape()[d]);
        }
        return "(" + String.join(", ", extents) + ")";
    }

    /** Name, unit, levels, grid and times of each field over latitudes and longitudes. */
    public List<List<String>> fields() {
        return fields.stream().map(field -> List.of(field.name(), field.unit().orElse(""),
            field.levelText().replaceFirst("^ at ", ""), grid(field), times(field.times()))).toList();
    }

    /** Name of each field that cannot be converted, and the reason. */
    public List<List<String>> refused() {
        return refused;
    }

    private static String grid(GriddedArray field) {
        double[] lats = field.latitudes();
        double[] lons = field.longitudes();
        return lats.length + " x " + lons.length + ", " + GriddedArray.plain(lats[0]) + " to "
            + GriddedArray.plain(lats[lats.length - 1]) + " N, " + GriddedArray.plain(lons[0]) + " to "
            + GriddedArray.plain(lons[lons.length - 1]) + " E";
    }

    /** First and last time, the most frequent step, and what is missing between. */
    private static String times(long[] times) {
        if (times.length == 0) {
            return "constant";
        }
        String text = times.length + " from " + CfTime.text(times[0]);
        if (times.length > 1) {
            long[] steps = new long[times.length - 1];
            Arrays.setAll(steps, i -> times[i + 1] - times[i]);
            long step = Arrays.stream(steps).min().orElseThrow();
            long missing = (times[times.length - 1] - times[0]) / step + 1 - times.length;
            text += " to " + CfTime.text(times[times.length - 1]) + ", every "
                + GriddedArray.plain(step / 3600.0) + " hours" + (missing > 0 ? ", " + missing + " missing" : "");
        }
        return text;
    }

    /** Name and range of each field, and its numbers of missing and infinite values. Reads all values. */
    public List<List<String>> values(ScanObserver progress) {
        long total = fields.stream()
            .mapToLong(field -> StoredArray.elements(field.stored().shape()) * field.stored().type().bytes()).sum();
        AtomicLong done = new AtomicLong();
        return fields.stream().map(field -> {
            FieldCensus census = FieldCensus.of(field, bytes -> progress.done(done.addAndGet(bytes), total));
            return List.of(field.name(), number(census.least()), number(census.greatest()),
                Long.toString(census.nans()), Long.toString(census.infinite()));
        }).toList();
    }

    private static String number(float value) {
        return Float.isInfinite(value) ? "none" : String.format(Locale.ROOT, "%.6g", value);
    }

    /** Which of the tutorial's channels there are, by short name. */
    public List<String> channels() {
        VariableTable table = VariableTable.of(Optional.empty());
        Catalog catalog = new Catalog(List.of(store));
        return Arrays.stream(Era5Variable.values()).map(Era5Variable::label)
            .filter(name -> catalog.has(table.channel(name))).toList();
    }

    @Override
    public void close() {
        store.close();
    }
}
