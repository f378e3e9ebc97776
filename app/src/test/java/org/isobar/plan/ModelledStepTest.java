package org.isobar.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Recompute;
import org.isobar.plan.machine.AttentionRate;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.machine.Quantity;
import org.junit.jupiter.api.Test;

/**
 * A step with the modelled speed of attention stands in docs/kernels.md beside PyTorch's;
 * {@code -Disobar.kernels.write=true} writes it anew.
 */
class ModelledStepTest {
    private static final Path DOCUMENT = Path.of("../docs/kernels.md");
    private static final String HEADING = "### A step, modelled";
    private static final String NEXT = "## What is executed";
    private static final String RATES = "| `bf16_t` | ";
    private static final List<String> TABLE = List.of(HEADING, "",
        "Milliseconds of a training step at batch 16 in bf16 on one GPU, as `plan` predicts it with the speed of",
        "attention above: products at 0.75 of the peak and other operations at 0.75 of the memory's bandwidth, both",
        "guessed, in captured steps. PyTorch is the tutorial's program as recorded: `base` on the A100 with 40 GB",
        "and on an H100 NVL (and with fused Adam and compiled pieces), `mp` on the A100 with 80 GB.", "",
        "| preset | GPU | products | attention | others | launches | step | PyTorch, recorded |",
        "|---|---|---:|---:|---:|---:|---:|---|");

    /** A change of more than 3 % in a step fails. */
    @Test
    void theTableIsOfThisProgram() throws IOException {
        List<String> committed = Files.readAllLines(DOCUMENT, StandardCharsets.UTF_8);
        List<String> before = committed.stream().takeWhile(line -> !line.equals(HEADING)).toList();
        List<String> after = committed.stream().dropWhile(line -> !line.equals(NEXT)).toList();
        List<String> found = new ArrayList<>(TABLE);
        found.add(row("base", "perlmutter-a100-40", rates(before, 1), "291"));
        found.add(row("base", "h100-sxm", rates(before, 0), "155.7, 125.0"));
        found.add(row("mp", "perlmutter-a100-80", rates(before, 1), "687"));
        found.add(row("mp", "h100-sxm", rates(before, 0), ""));
        found.add("");
        if (Boolean.getBoolean("isobar.kernels.write")) {
            Files.write(DOCUMENT, Stream.of(before, found, after).flatMap(List::stream).toList(),
                StandardCharsets.UTF_8);
        }
        List<String> now = Files.readAllLines(DOCUMENT, StandardCharsets.UTF_8);
        List<String> page = now.subList(before.size(), now.size() - after.size());
        assertEquals(found.size(), page.size(), () -> String.join("\n", found));
        IntStream.range(0, found.size()).forEach(i ->
            assertTrue(isNear(page.get(i), found.get(i)), () -> page.get(i) + " is now " + found.get(i)));
    }

    private static boolean isNear(String page, String found) {
        String[] before = page.split("[|]");
        String[] now = found.split("[|]");
        return page.equals(found) || before.length == now.length && before.length > 7
            && Arrays.equals(before, 0, 3, now, 0, 3)
            && Math.abs(Double.parseDouble(now[7]) / Double.parseDouble(before[7]) - 1) <= 0.03;
    }

    /** The speed of attention by size of heads, without dropout, of the GPU in this column of the page. */
    private static List<AttentionRate> rates(List<String> page, int gpu) {
        List<AttentionRate> rates = page.stream().filter(line -> line.startsWith(RATES)).map(line -> line.split("[|]"))
            .filter(cells -> cells[3].isBlank()).map(cells -> new AttentionRate(true,
                Long.parseLong(cells[2].strip()), modelled(cells[4 + gpu]), modelled(cells[6 + gpu]))).toList();
        assertEquals(6, rates.size());
        return rates;
    }

    private static Quantity modelled(String cell) {
        return new Quantity(Double.parseDouble(cell), Quantity.Source.GUESSED, "2026-11", "docs/kernels.md");
    }

    private static String row(String preset, String name, List<AttentionRate> rates, String recorded) {
        Machine file = MachineFile.load(name);
        Machine machine = new Machine(file.name(), file.description(), file.device(), file.kind(), file.numbers(),
            rates, file.profiles(), file.collectives(), file.operations(), file.shared());
        PlanRequest request = new PlanRequest(ConfigLoader.load(new ConfigRequest(Path.of("../config/ViT.yaml"), preset,
            Map.of())), machine, Program.ISOBAR, 1, PlanRequest.Fixed.NOTHING);
        PlannedLayout step = Planner.predict(request, new PlanLayout(1, 1, 1, ProcessGrid.DEFAULT_ORDER, 16, 1,
            AmpMode.BF16, Recompute.NONE, true));
        Map<String, Double> parts = step.breakdown();
        return String.format(Locale.ROOT, "| `%s` | %s | %.1f | %.1f | %.1f | %.1f | %.1f | %s |", preset,
            file.device(), 1e3 * parts.get("products"), 1e3 * parts.get("attention"), 1e3 * parts.get("memory-bound"),
            1e3 * parts.get("launch"), 1e3 * step.timeline().end(), recorded);
    }
}
