package org.isobar.plan.simulate;

/** What a simulated rank issues, with its duration in seconds. */
public sealed interface TimedEvent {
    /**
     * Work of the compute stream.
     *
     * @param label what the time belongs to in a breakdown
     */
    record Compute(String label, double seconds) implements TimedEvent { }

    /**
     * A collective. It starts when each member has done the work that it issued before it, and the communicator has
     * ended the collective before.
     *
     * @param number  index of the collective among those of its rank
     * @param group   name of the group
     * @param seconds duration, once all members have started
     */
    record Issue(int number, String group, double seconds) implements TimedEvent { }

    /**
     * Later work of the compute stream starts when a collective is done.
     *
     * @param number that of its {@link Issue}
     */
    record Await(int number) implements TimedEvent { }
}
