package org.isobar.cli.checkpoint;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.cli.print.FactTable;
import org.isobar.distributed.Shard;
import org.isobar.tensor.DType;

/** Prints the contents of a checkpoint. */
final class CheckpointDescription {
    private final Checkpoint checkpoint;
    private final PrintWriter out;
    private final FactTable facts;

    CheckpointDescription(Checkpoint checkpoint, PrintWriter out) {
        this.checkpoint = checkpoint;
        this.out = out;
        facts = new FactTable(out);
    }

    /** Prints the iteration, the sizes, the layout, the state and the configuration. */
    void summary() {
        facts.line("Checkpoint", checkpoint.path().toString());
        facts.line("Iteration", Long.toString(checkpoint.iteration()));
        facts.line("Files", files(checkpoint));
        facts.line("Weights", tensors(checkpoint.names().stream().filter(TensorSlice::isWeight).toList()));
        facts.line("Moments",
            tensors(checkpoint.names().stream().filter(name -> !TensorSlice.isWeight(name)).toList()));
        facts.line("Layout", layout());
        entries("State", checkpoint.state());
        entries("Configuration", checkpoint.configuration());
        out.flush();
    }

    /** Prints all files and all tensors. */
    void contents() {
        facts.heading("Files");
        List<List<String>> files = new ArrayList<>(List.of(List.of("name", "bytes")));
        checkpoint.files().forEach((name, bytes) -> files.add(List.of(name, Long.toString(bytes))));
        facts.table(files);
        facts.heading("Tensors");
        List<List<String>> tensors = new ArrayList<>(List.of(List.of("name", "shape", "bytes", "slices")));
        for (String name : checkpoint.names()) {
            tensors.add(List.of(name, checkpoint.shape(name).toString(), Long.toString(bytes(name)), cut(name)));
        }
        facts.table(tensors);
        out.flush();
    }

    /** The number of files and their total size. */
    static String files(Checkpoint checkpoint) {
        int count = checkpoint.files().size();
        long bytes = checkpoint.files().values().stream().mapToLong(Long::longValue).sum();
        return count + (count == 1 ? " file, " : " files, ") + FactTable.bytes(bytes);
    }

    private String tensors(List<String> names) {
        if (names.isEmpty()) {
            return "none";
        }
        long elements = names.stream().mapToLong(name -> checkpoint.shape(name).elements()).sum();
        long bytes = names.stream().mapToLong(this::bytes).sum();
        return String.format(Locale.ROOT, "%,d numbers in %d tensor%s, %s", elements, names.size(),
            names.size() == 1 ? "" : "s", FactTable.bytes(bytes));
    }

    private long bytes(String name) {
        return checkpoint.shape(name).elements() * DType.F32.bytes();
    }

    /** How many tensors were sharded in which way, as in "24 in 2 slices along dimension 0, 38 whole". */
    private String layout() {
        return checkpoint.names().stream()
            .collect(Collectors.groupingBy(this::cut, TreeMap::new, Collectors.counting()))
            .entrySet().stream().map(entry -> entry.getValue() + " " + entry.getKey())
            .collect(Collectors.joining(", "));
    }

    private String cut(String name) {
        Shard shard = checkpoint.slices(name).getFirst().shard();
        return shard.parts() == 1 ? "whole" : "in " + shard.parts() + " slices along dimension " + shard.dim();
    }

    private void entries(String title, Map<String, String> entries) {
        if (!entries.isEmpty()) {
            facts.heading(title);
            facts.table(entries.entrySet().stream().map(entry -> List.of(entry.getKey(), entry.getValue())).toList());
        }
    }
}
