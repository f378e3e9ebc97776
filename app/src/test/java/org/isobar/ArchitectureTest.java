package org.isobar;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The package table of {@code docs/architecture.md}, as rules. */
class ArchitectureTest {
    /** The table from its top: a package may use those before it and never those after it. */
    private static final List<String> TABLE = List.of("fault", "os", "tensor", "random", "device", "distributed",
        "backend", "nn", "vit", "optim", "data", "metrics", "telemetry", "checkpoint", "config", "train", "verify",
        "bench", "bundle", "cli");
    private static final String ROOT = "org.isobar.";
    private static final JavaClasses CLASSES = new ClassFileImporter()
        .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
        .importPackages("org.isobar");

    @ParameterizedTest
    @MethodSource("allButTheLast")
    void aPackageUsesOnlyThoseAboveItInTheTable(String name) {
        String[] below = TABLE.stream().skip(TABLE.indexOf(name) + 1L).map(ArchitectureTest::tree)
            .toArray(String[]::new);
        check(noClasses().that().resideInAPackage(tree(name))
            .should().dependOnClassesThat().resideInAnyPackage(below));
    }

    static Stream<String> allButTheLast() {
        return TABLE.stream().limit(TABLE.size() - 1L);
    }

    @Test
    void packagesHaveNoCycles() {
        check(slices().matching(ROOT + "(**)").should().beFreeOfCycles());
    }

    @ParameterizedTest
    @CsvSource({"org.bytedeco.., backend", "picocli.., cli", "org.yaml.., config"})
    void aLibraryHasOneHome(String library, String home) {
        check(noClasses().that().resideOutsideOfPackage(tree(home))
            .should().dependOnClassesThat().resideInAPackage(library));
    }

    @Test
    void jhdfIsSeenByOneClassAlone() {
        check(noClasses().that().haveNameNotMatching("org\\.isobar\\.data\\.Era5File(\\$.*)?")
            .should().dependOnClassesThat().resideInAPackage("io.jhdf.."));
    }

    @Test
    void theTableNamesEveryPackage() {
        Set<String> unknown = CLASSES.stream()
            .map(type -> type.getPackageName().substring(ROOT.length()).split("\\.")[0])
            .filter(name -> !TABLE.contains(name))
            .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(Set.of(), unknown);
    }

    /** Were the class files unreadable, every rule above would hold. */
    @Test
    void dependenciesAreSeen() {
        ArchRule broken = noClasses().that().resideInAPackage(tree("cli"))
            .should().dependOnClassesThat().resideInAPackage(tree("config"));
        assertTrue(broken.evaluate(CLASSES).hasViolation());
    }

    private static void check(ArchRule rule) {
        rule.allowEmptyShould(true).check(CLASSES);
    }

    private static String tree(String name) {
        return ROOT + name + "..";
    }
}
