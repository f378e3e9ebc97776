/**
 * Processes that train one model together: which ranks form a group, how a weight or a sequence is cut among them, how
 * they find and watch each other, and what they can ask of each other. Knows neither layers nor parameters; how bytes
 * travel is the business of the back ends.
 */
package org.isobar.distributed;
