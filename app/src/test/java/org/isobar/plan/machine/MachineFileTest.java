package org.isobar.plan.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Machine files, right and wrong. */
class MachineFileTest {
    @TempDir
    private Path directory;

    @Test
    void everyShippedMachineIsReadAndSaysWhereItsNumbersComeFrom() {
        for (String name : MachineFile.SHIPPED) {
            Machine machine = MachineFile.load(name);
            assertEquals(name, machine.name());
            machine.numbers().forEach((key, number) ->
                assertFalse(number.date().isBlank() || number.run().isBlank(), name + " " + key));
        }
        assertEquals(1555, MachineFile.load("perlmutter-a100-40").value(MachineKeys.BANDWIDTH));
    }

    @Test
    void aMeasuredCollectiveIsItsMeasurement() {
        CollectiveTable table = MachineFile.load("perlmutter-a100-40").collectives().orElseThrow();
        assertEquals(770.9e-6, table.seconds("allgather", 128, 1, 32768).orElseThrow(), 1e-12);
        double between = table.seconds("allgather", 128, 1, 40000).orElseThrow();
        assertTrue(between < 770.9e-6 && between > 724.9e-6, "" + between);
        assertTrue(table.seconds("allreduce", 2, 8, 1 << 20).isEmpty());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "memory_gb: [40, published|memory_gb: [forty, published|line 9, memory_gb: it takes numbers where",
        "memory_gb: [40, published|memory_gb: [40, heard|memory_gb: it takes [NUMBER, measured",
        "memory_gb: [40, published|memory_gb: [-1, published|memory_gb: it takes a number of at least 0",
        "ranks_per_node: [4, |ranks_per_node: [0, |ranks_per_node: it takes a number over 0",
        "[half, 32, 100, |[half, 32, 0, |attention_tflops: it takes numbers over 0",
        "  memory_gb:|  memory_bg:|the key 'memory_gb' is missing",
        "  kind: gpu|  kind: tpu|kind: it takes cpu or gpu",
        "  kind: gpu|  kind: gpu~  colour: red|there is no such key",
        "collectives: nccl_perlmutter_a100|collectives: nccl_elsewhere|the name of a shipped table",
        "[half, 32, |[quarter, 32, |rows that begin with half or single",
        "memory_gb: [40, published|memory_gb: [NaN, published|memory_gb: it takes numbers where it has 'NaN'",
        "gemm: [39.51, |gemm: [0, |tutorial_ms.bf16.gemm: it takes a number over 0",
        "collectives: nccl_perlmutter_a100|collectives: [[allreduce, 0, 1, 8, 1]]|ranks and bytes of at least 1",
        "collectives: nccl_perlmutter_a100|collectives: [[allreduce, 1, -1, 8, 1]]|ranks and bytes of at least 1",
        "collectives: nccl_perlmutter_a100|collectives: [[allreduce, 1, 1, 0, 1]]|ranks and bytes of at least 1",
        "collectives: nccl_perlmutter_a100|collectives: [[allreduce, 1, 1, 8, .inf]]|numbers where it has '.inf'",
        "  kind: gpu|  kind: gpu~  operations: [[linear, F32, -1, 8, 1]]|floating-point operations of at least 0",
        "  kind: gpu|  kind: gpu~  operations: [[attention, F32, 0, 8, 1]]|floating-point operations of at least 0"})
    void aWrongFileIsOneLine(String part, String wrong, String message) throws IOException {
        try (InputStream shipped = MachineFile.class.getResourceAsStream("perlmutter-a100-40.yaml")) {
            String text = new String(shipped.readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(text.contains(part));
            Path file = Files.writeString(directory.resolve("m.yaml"), text.replace(part, wrong.replace('~', '\n')));
            String said = assertThrows(UserException.class, () -> MachineFile.load(file.toString())).getMessage();
            assertTrue(said.contains(message) && said.contains("m.yaml") && said.lines().count() == 1, said);
        }
    }

    @Test
    void anUnknownMachineNamesTheKnownOnes() {
        String said = assertThrows(UserException.class, () -> MachineFile.load("perlmuter-a100-40")).getMessage();
        assertTrue(said.contains("Did you mean 'perlmutter-a100-40'") && said.contains("h100-nvl"), said);
    }
}
