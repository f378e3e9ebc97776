package org.isobar.vit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The module tree has numbers as PyTorch prints them. */
class ModelSummaryTest {
    @ParameterizedTest
    @CsvSource({"0, 0.0", "0.1, 0.1", "0.0005, 0.0005", "0.00001, 1e-05"})
    void dropout(double probability, String printed) {
        String summary = ModelSummary.of(new VitConfig(8, 8, 8, 2, 2, 6, 2, 2, 24, probability));
        Set<String> layers = Pattern.compile("Dropout\\(.*\\)").matcher(summary).results()
            .map(layer -> layer.group()).collect(Collectors.toCollection(TreeSet::new));
        assertEquals(Set.of("Dropout(p=" + printed + ", inplace=False)"), layers);
    }
}
