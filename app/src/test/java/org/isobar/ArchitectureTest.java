package org.isobar;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rooms of {@code docs/architecture.md}, as rules. */
class ArchitectureTest {
    /** Every package, from the bottom: one may use those before it and none of those after it. */
    private static final List<String> ROOMS =
        List.of("fault", "os", "tensor", "random", "device.ops", "device.checks", "device",
        "telemetry", "distributed", "distributed.job", "backend.host", "backend.dryrun",
        "backend.cpu.parallel", "backend.cpu.vector", "backend.cpu.product", "backend.cpu.generated",
        "backend.cpu.onednn", "backend.cpu.attention", "backend.cpu.ops", "backend.cpu",
        "backend.cuda.driver", "backend.cuda.kernels", "backend.cuda.cudnn", "backend.cuda.ops",
        "backend.cuda.nccl",
        "backend.cuda.staged", "backend.cuda", "backend", "nn", "model", "vit", "optim", "data.channels", "data",
        "data.source", "data.zarr", "data.survey", "data.convert", "data.synthetic", "metrics", "scores",
        "report",
        "checkpoint.safetensors", "checkpoint", "config.keys", "config.yaml", "config", "pretrained",
        "train.step",
        "train.memory", "train.engine", "train.input",
        "train.saving", "train.diagnosis", "train.collectives", "train.metrics", "train.trace",
        "train",
        "export.onnx", "export", "forecast", "evaluation",
        "verify.reference", "verify.contract", "verify.layout", "verify",
        "exercise.api", "exercise",
        "bench.measure", "bench.report", "bench.suite",
        "plan.machine", "plan.trace", "plan.simulate", "plan.cost", "plan", "plan.report", "plan.calibrate",
        "bundle", "cli.options", "cli.print", "cli.signal", "cli.job",
        "cli.bench", "cli.checkpoint", "cli.data", "cli.doctor", "cli.plan", "cli.verify", "cli");
    private static final int MOST_FILES = 30;
    private static final String ROOT = "org.isobar.";
    /** The classes of the main source folder: those in the directory, or jar, that one of them was loaded from. */
    private static final JavaClasses CLASSES = new ClassFileImporter()
        .importUrl(UserException.class.getProtectionDomain().getCodeSource().getLocation());

    @ParameterizedTest
    @MethodSource("allButTheLast")
    void aRoomUsesOnlyThoseBelowIt(String room) {
        String[] above = ROOMS.stream().skip(ROOMS.indexOf(room) + 1L).map(ROOT::concat).toArray(String[]::new);
        check(noClasses().that().resideInAPackage(ROOT + room)
            .should().dependOnClassesThat().resideInAnyPackage(above));
    }

    static Stream<String> allButTheLast() {
        return ROOMS.stream().limit(ROOMS.size() - 1L);
    }

    @Test
    void everyRoomHasItsPlace() {
        Set<String> packages = types().map(type -> type.getPackageName().substring(ROOT.length()))
            .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(new TreeSet<>(ROOMS), packages);
    }

    /** Within a room, too: of two files, one can be read without the other. */
    @Test
    void filesHaveNoCycles() {
        Map<String, Set<String>> uses = new TreeMap<>();
        for (JavaClass type : CLASSES) {
            String user = topLevel(type).getName();
            type.getDirectDependenciesFromSelf().stream()
                .map(dependency -> topLevel(dependency.getTargetClass()).getName())
                .filter(used -> used.startsWith(ROOT) && !used.equals(user))
                .forEach(used -> uses.computeIfAbsent(user, file -> new TreeSet<>()).add(used));
        }
        assertTrue(uses.size() > ROOMS.size());
        assertEquals(Set.of(), uses.keySet().stream()
            .filter(file -> reachable(uses, file).contains(file)).map(file -> file.substring(ROOT.length()))
            .collect(Collectors.toCollection(TreeSet::new)));
    }

    private static Set<String> reachable(Map<String, Set<String>> uses, String from) {
        Set<String> seen = new HashSet<>();
        Deque<String> waiting = new ArrayDeque<>(uses.get(from));
        while (!waiting.isEmpty()) {
            String file = waiting.pop();
            if (seen.add(file)) {
                waiting.addAll(uses.getOrDefault(file, Set.of()));
            }
        }
        return seen;
    }

    @Test
    void aRoomIsNotCrowded() throws IOException {
        Map<Path, Long> crowded = new TreeMap<>();
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            files.filter(file -> file.toString().endsWith(".java"))
                .collect(Collectors.groupingBy(Path::getParent, Collectors.counting()))
                .forEach((room, count) -> crowded.merge(room, count, Long::sum));
        }
        assertTrue(crowded.size() >= ROOMS.size(), () -> "sources were not found: " + crowded);
        crowded.values().removeIf(count -> count <= MOST_FILES);
        assertEquals(Map.of(), crowded);
    }

    /** One name, one class: neither in two rooms, nor one of ours and one of Java's that we use. */
    @Test
    void namesAreUnique() {
        Set<JavaClass> types = types().map(ArchitectureTest::topLevel).collect(Collectors.toSet());
        Map<String, Set<String>> homes = new TreeMap<>();
        Stream.concat(types.stream(), CLASSES.stream().flatMap(type -> type.getDirectDependenciesFromSelf().stream())
                .map(dependency -> topLevel(dependency.getTargetClass()))
                .filter(type -> type.getPackageName().startsWith("java.")))
            .forEach(type -> homes.computeIfAbsent(type.getSimpleName(), name -> new TreeSet<>()).add(type.getName()));
        homes.values().removeIf(names -> names.size() == 1 || names.stream().noneMatch(name -> name.startsWith(ROOT)));
        assertEquals(Map.of(), homes);
    }

    @ParameterizedTest
    @CsvSource({"org.bytedeco.., backend", "picocli.., cli", "org.yaml.., config", "onnx.., export.onnx"})
    void aLibraryHasOneHome(String library, String home) {
        check(noClasses().that().resideOutsideOfPackage(ROOT + home + "..")
            .should().dependOnClassesThat().resideInAPackage(library));
    }

    /** A model enters itself into the registry; whatever trains, saves or scores it knows its interface alone. */
    @ParameterizedTest
    @ValueSource(strings = {"config", "train", "checkpoint", "metrics", "telemetry", "data", "optim", "cli"})
    void theTrainerKnowsNoArchitecture(String room) {
        check(noClasses().that().resideInAPackage(ROOT + room + "..")
            .should().dependOnClassesThat().resideInAnyPackage(architectures()));
    }

    /** The packages of all architectures of the registry. */
    private static String[] architectures() {
        String[] packages = CLASSES.stream().filter(type -> !type.isInterface())
            .filter(type -> type.isAssignableTo(ROOT + "model.Architecture"))
            .map(JavaClass::getPackageName).distinct().toArray(String[]::new);
        assertTrue(List.of(packages).contains(ROOT + "vit"));
        return packages;
    }

    @Test
    void jhdfIsSeenByFourClassesAlone() {
        String users = "org\\.isobar\\.data\\.(Hdf5(Fields|Contents|Companions)|source\\.Hdf5Store)(\\$.*)?";
        check(noClasses().that().haveNameNotMatching(users)
            .should().dependOnClassesThat().resideInAPackage("io.jhdf.."));
    }

    @Test
    void decompressorsAreSeenByReadersOfChunksAlone() {
        check(noClasses().that().resideOutsideOfPackage(ROOT + "data.zarr..")
            .and().doNotHaveFullyQualifiedName(ROOT + "data.source.ZlibStream")
            .should().dependOnClassesThat().resideInAPackage("io.airlift.."));
    }

    @Test
    void theTransformIsSeenByOneClassAlone() {
        check(noClasses().that().doNotHaveFullyQualifiedName(ROOT + "scores.ZonalSpectrum")
            .should().dependOnClassesThat().resideInAPackage("org.jtransforms.."));
    }

    /** What computes statistics of data has no part in making synthetic data, whose statistics it can check. */
    @Test
    void syntheticDataAreMadeWithoutTheSurvey() {
        check(noClasses().that().resideInAPackage(ROOT + "data.synthetic..")
            .should().dependOnClassesThat().resideInAPackage(ROOT + "data.survey.."));
    }

    /** If the class files could not be read, every rule above would hold. */
    @Test
    void dependenciesAreSeen() {
        ArchRule broken = noClasses().that().resideInAPackage(ROOT + "cli..")
            .should().dependOnClassesThat().resideInAPackage(ROOT + "config..");
        assertTrue(broken.evaluate(CLASSES).hasViolation());
    }

    private static Stream<JavaClass> types() {
        return CLASSES.stream().filter(type -> !type.getSimpleName().equals("package-info"));
    }

    private static JavaClass topLevel(JavaClass type) {
        JavaClass top = type;
        while (top.getEnclosingClass().isPresent()) {
            top = top.getEnclosingClass().get();
        }
        return top;
    }

    private static void check(ArchRule rule) {
        rule.allowEmptyShould(true).check(CLASSES);
    }
}
