package org.isobar.train.collectives;

import java.util.List;
import java.util.Map;

/**
 * What one rank does to its groups, from the start of a run to its end.
 *
 * @param groups the ranks of each of this rank's groups, by the group's name
 * @param events in the order of issue
 */
public record RankTrace(Map<String, List<Integer>> groups, List<CollectiveEvent> events) { }
