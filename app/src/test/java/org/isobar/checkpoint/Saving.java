package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;

/** Writes checkpoints of a small model, ranks being threads. The value of an element says which one it is. */
public final class Saving {
    static final Duration PATIENCE = Duration.ofSeconds(20);
    static final Description DESCRIPTION = new Description(Map.of("seed", "7"), new State(3, 0.1, Double.NaN));
    private static final Map<String, Shape> MODEL = model();

    /** What a training loop might keep. */
    record State(long epoch, double loss, double best) { }

    /** Along which dimension a tensor of several is cut; not at all if it has no such dimension. */
    public enum Cut { WHOLE, ROWS, COLUMNS }

    private Saving() { }

    static Shard shard(Shape shape, Cut cut, int parts, int index) {
        boolean fits = cut == Cut.ROWS && shape.rank() > 0 || cut == Cut.COLUMNS && shape.rank() > 1;
        return fits ? new Shard(cut == Cut.ROWS ? 0 : 1, parts, index) : Shard.whole();
    }

    static Map<String, Shape> shapes() {
        return MODEL;
    }

    private static Map<String, Shape> model() {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        shapes.put("weight", Shape.of(8, 12));
        shapes.put("bias", Shape.of(8));
        shapes.put("scalar", Shape.of());
        shapes.put("cube", Shape.of(4, 8, 3));
        shapes.put("large", Shape.of(1200, 1000)); // several blocks
        return shapes;
    }

    static float[] slice(String name, Shape shape, Shard shard) {
        float[] slice = new float[(int) shard.local(shape).elements()];
        Shard.Runs runs = shard.parts() == 1 ? new Shard.Runs(1, slice.length, 0, 0) : shard.runs(shape);
        int to = 0;
        for (long run = 0; run < runs.count(); run++) {
            for (long i = 0; i < runs.length(); i++) {
                slice[to++] = name.hashCode() % 1000 + runs.start(run) + i;
            }
        }
        return slice;
    }

    static Piece piece(String name, Shape shape, Shard shard) {
        return new Piece(name, shape, shard, memory -> MemorySegment.copy(slice(name, shape, shard), 0, memory,
            ValueLayout.JAVA_FLOAT, 0, (int) shard.local(shape).elements()));
    }

    /** What rank {@code rank} writes: its slices, and its share of the tensors that are whole. */
    static List<Piece> pieces(Cut cut, int ranks, int rank) {
        List<Piece> own = new ArrayList<>();
        List<Piece> shared = new ArrayList<>();
        MODEL.forEach((name, shape) -> {
            Piece piece = piece(name, shape, shard(shape, cut, ranks, rank));
            (piece.shard().parts() > 1 ? own : shared).add(piece);
        });
        own.addAll(Pieces.assign(shared, Piece::bytes, ranks, rank));
        return own;
    }

    /** Saves with ranks that cut what they can. */
    public static List<SaveResult> save(Path directory, long iteration, Cut cut, int ranks) {
        return together(IntStream.range(0, ranks).mapToObj(rank -> (Save) () ->
            writer(directory, rank, ranks).write(iteration, pieces(cut, ranks, rank), DESCRIPTION)).toList());
    }

    /** Saves with one rank, which must succeed. */
    public static Path save(Path directory, long iteration) {
        Path path = directory.resolve("checkpoint-" + iteration);
        assertEquals(List.of(new SaveResult.Done(path)), save(directory, iteration, Cut.WHOLE, 1));
        return path;
    }

    static CheckpointWriter writer(Path directory, int rank, int ranks) {
        return new CheckpointWriter(directory, "this run", rank, ranks, PATIENCE);
    }

    /** What one rank does. */
    interface Save {
        SaveResult run() throws Exception;
    }

    static List<SaveResult> together(List<Save> ranks) {
        try (ExecutorService threads = Executors.newFixedThreadPool(ranks.size())) {
            List<Future<SaveResult>> running = ranks.stream().map(rank -> threads.submit(rank::run)).toList();
            List<SaveResult> results = new ArrayList<>();
            for (Future<SaveResult> one : running) {
                results.add(one.get());
            }
            return results;
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError(e);
        }
    }
}
