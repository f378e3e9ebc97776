/** A back end that computes nothing: it tells what a run would need and do before a machine is asked for it. */
package org.isobar.backend.dryrun;
