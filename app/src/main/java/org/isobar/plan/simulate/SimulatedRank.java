package org.isobar.plan.simulate;

import java.util.List;
import java.util.Map;

/**
 * A rank that stands for all ranks that issue the same.
 *
 * @param events what it issues, in order
 * @param groups for each group's name, the indices of the simulated ranks that are its members, this one included;
 *               members that issue the same as another are left out
 */
public record SimulatedRank(List<TimedEvent> events, Map<String, List<Integer>> groups) {
    /** Copies what is given. */
    public SimulatedRank {
        events = List.copyOf(events);
        groups = Map.copyOf(groups);
    }
}
